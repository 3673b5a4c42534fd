"""Ranges of values that a scan asks of Parquet's reader, as tight as what was proved about its blocks."""
