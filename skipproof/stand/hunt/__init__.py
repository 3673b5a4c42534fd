"""The hunt: it examines worlds, and shrinks, confirms and saves the failures."""
