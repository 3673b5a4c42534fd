"""Predicates and the expressions that they are made of."""
