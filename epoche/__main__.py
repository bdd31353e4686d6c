"""``python -m epoche`` is the command ``epoche``."""

from epoche.cli import main

if __name__ == "__main__":
    main()
