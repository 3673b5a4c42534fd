"""Block metadata, and stores and searches of it, that are wrong on purpose."""
