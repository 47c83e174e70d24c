"""`python -m pointsman`: the command line, by the Python that runs it."""

from pointsman.cli import main

main()
