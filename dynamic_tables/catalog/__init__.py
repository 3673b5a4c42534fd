"""The catalog: statements, what they make of it, and the graph of dynamic tables."""
