"""Run the command line as ``python -m discreet``."""

from discreet.cli.app import main

if __name__ == "__main__":
    main()
