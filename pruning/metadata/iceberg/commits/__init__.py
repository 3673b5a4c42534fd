"""Commits to tables of Apache Iceberg, without Spark or Java: files replaced, and rows deleted by position."""
