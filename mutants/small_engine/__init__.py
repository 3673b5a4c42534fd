"""Wrong versions of the stand's small engine."""
