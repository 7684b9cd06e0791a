"""The entrance of `lapsheet` and of `python -m runner`: nothing heavy is imported before it is reached."""

import sys


def main() -> None:
    """Run the command line; a Ctrl-C while it is still loading ends it without a traceback."""
    try:
        from runner.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
