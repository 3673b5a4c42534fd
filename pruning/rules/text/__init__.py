"""Sets of texts: automata over characters, patterns, letter case, and preimages of functions."""
