"""From a predicate to a program: the table of rules, and the verdicts on a block."""
