"""``python -m rushlight``: the command line."""

import sys

from rushlight.cli import main

if __name__ == "__main__":
    if status := main():  # python -i shows even sys.exit(0) as an error
        sys.exit(status)
