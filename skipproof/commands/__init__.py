"""The commands, what they take from the command line, and how they show what came of it."""
