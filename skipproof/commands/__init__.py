"""The commands: their arguments, their work, and the printing of their results."""
