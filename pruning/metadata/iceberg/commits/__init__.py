"""Commits to tables of Apache Iceberg, without Spark or Java: files replaced, rows deleted by position."""
