"""`python -m bristlecone`: the command line."""

from bristlecone.command_line import main

if __name__ == "__main__":
    raise SystemExit(main())
