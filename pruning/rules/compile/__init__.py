"""From a predicate to a program: the table of rules, and what is asked of a block."""
