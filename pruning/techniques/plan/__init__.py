"""Where in a plan a technique may act, and what blocks it has seen."""
