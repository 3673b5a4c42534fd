"""Cells, their types, and what functions and operators make of them."""
