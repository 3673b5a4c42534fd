"""Files: where paths and patterns lead, and which files they name."""
