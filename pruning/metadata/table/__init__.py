"""The table of blocks: its shape, how it is collected, and where it is kept."""
