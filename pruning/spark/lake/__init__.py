"""Parquet tables in a plan: files, columns and partition values."""
