"""Mutants of what the SQL of definitions means: functions, aggregates, windows, grouping sets."""
