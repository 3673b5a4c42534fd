"""The processes that run engines, and the list of engines."""
