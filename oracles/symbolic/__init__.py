"""SQL's meaning of expressions on a symbolic row, as Z3 terms."""
