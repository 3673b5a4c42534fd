"""`python -m skipproof` is the command `skipproof`."""

from skipproof.starting import main

main()
