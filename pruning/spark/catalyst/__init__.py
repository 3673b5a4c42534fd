"""Catalyst expressions and plans as the trees that the rules know."""
