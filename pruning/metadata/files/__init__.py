"""Files: resolving paths and patterns to file systems and listing the data files."""
