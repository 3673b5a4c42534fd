"""Parquet footers: what they say, and what of it is believed."""
