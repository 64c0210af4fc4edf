"""`python -m trivium`, which must say what is missing even where nothing is installed."""

import sys

if not (3, 11) <= sys.version_info[:2] < (3, 13):
    sys.exit(f"error: Trivium needs Python 3.11 or 3.12; this is {sys.version.split()[0]} ({sys.executable})")

try:
    from trivium.cli import main
except ModuleNotFoundError as error:
    if not error.name or error.name.startswith("trivium"):
        raise
    from trivium.needs import cure

    sys.exit(f"error: the package {error.name} is not installed for {sys.executable}; run: {cure('core')}")

if __name__ == "__main__":
    main()
