"""DELETE, UPDATE and MERGE: the fate of each block."""
