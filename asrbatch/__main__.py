"""`python -m asrbatch`."""

from asrbatch.cli import main

main()
