"""The command `tagtopic`, also as `python -m tagtopic`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it without a word, also while it is still being imported."""
    try:
        from tagtopic.cli.main import run

        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
