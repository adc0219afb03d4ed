"""`python -m tagtopic` is the command `tagtopic`."""

from tagtopic.cli.main import run

if __name__ == "__main__":
    run()
