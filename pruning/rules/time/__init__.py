"""Dates, times and zones on exact integers, and the preimages of their functions."""
