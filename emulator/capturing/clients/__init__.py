"""The traced consumers of the Python clients: ``python -m emulator.capturing.clients``.

They do what ``TracedConsumer.java`` does, each with the calls of its library.
"""
