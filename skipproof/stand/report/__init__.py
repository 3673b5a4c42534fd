"""Reports of a hunt as HTML."""
