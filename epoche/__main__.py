"""Runs the command ``epoche`` for ``python -m epoche``."""

from epoche.cli import main

if __name__ == "__main__":
    main()
