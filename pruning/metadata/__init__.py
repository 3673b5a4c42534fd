"""Block metadata: its shape, where it comes from, and what of it is believed."""
