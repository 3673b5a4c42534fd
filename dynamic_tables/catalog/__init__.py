"""The catalog: statements, the rules that apply them, and the graph of dynamic tables."""
