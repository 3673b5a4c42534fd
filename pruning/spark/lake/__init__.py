"""Parquet tables in a plan: their files, columns and partition values."""
