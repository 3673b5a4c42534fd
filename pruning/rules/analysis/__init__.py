"""The abstract interpretation of a predicate over the metadata of a block."""
