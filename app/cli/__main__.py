"""Entry point of `python -m app.cli`, by which the supervisor starts processes that it cannot fork."""

from app.cli.root import main

if __name__ == "__main__":
    main()
