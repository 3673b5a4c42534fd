"""Views of block metadata: inputs of programs, constant columns, and verification against the data."""
