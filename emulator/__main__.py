"""``python -m emulator`` is ``rebalance``."""

from emulator.cli.main import main

if __name__ == "__main__":
    main()
