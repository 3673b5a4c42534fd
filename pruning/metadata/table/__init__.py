"""The table of block metadata: its schema, its collection and its caches."""
