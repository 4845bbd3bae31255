"""Run ``rebalance`` as ``python -m emulator``."""

from emulator.cli.main import main

if __name__ == "__main__":
    main()
