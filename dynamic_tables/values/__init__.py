"""Cells, their types, expressions over them, and the functions and operators of expressions."""
