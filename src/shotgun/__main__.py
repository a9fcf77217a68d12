"""python -m shotgun: the command line."""

from shotgun.cli import main

if __name__ == "__main__":
    main()
