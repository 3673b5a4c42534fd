"""Catalyst expressions and plans, converted to the trees that the rules take."""
