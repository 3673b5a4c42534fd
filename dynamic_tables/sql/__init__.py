"""SQL: definitions and statements, bound to what their names stand for."""
