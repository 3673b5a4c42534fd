"""`python -m skipproof` is the command `skipproof`."""

from skipproof.cli import main

main()
