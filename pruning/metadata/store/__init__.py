"""The store: block metadata collected, kept with its history, and read again without opening files."""
