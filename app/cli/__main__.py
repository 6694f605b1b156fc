"""`python -m app.cli`, which is how the supervisor starts its children."""

from app.cli.root import main

if __name__ == "__main__":
    main()
