"""DELETE, UPDATE and MERGE: what becomes of each block."""
