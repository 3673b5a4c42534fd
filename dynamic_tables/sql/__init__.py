"""SQL: definitions and statements, bound to the tables that their names denote."""
