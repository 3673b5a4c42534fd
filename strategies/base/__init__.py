"""Values, tables and block metadata, and how they are saved."""
