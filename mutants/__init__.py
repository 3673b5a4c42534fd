"""Code that is wrong on purpose: each mutant is one mistake that a check must find; none of it is shipped."""
