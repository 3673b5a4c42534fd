"""Block metadata as other parts read it: lanes, constants, and a check against the data."""
