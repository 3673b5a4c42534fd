"""Scripts for maintainers; they are run from a checkout and are not in the wheel."""
