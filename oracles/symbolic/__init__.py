"""The meaning of SQL expressions on a symbolic row, as Z3 terms."""
