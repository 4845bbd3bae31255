"""Autoscalers of groups: the rules of KEDA and of the HPA, and the loop that applies them in virtual time.

``lag_metrics.py`` and ``hpa.py`` are rules without a clock; ``loop.py`` reads lag and starts and stops members.
"""
