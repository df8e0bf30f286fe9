"""``python -m rushlight``: the command line."""

from rushlight.cli import main

if __name__ == "__main__":
    main()
