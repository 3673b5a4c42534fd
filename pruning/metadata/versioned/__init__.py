"""Versions of tables of Delta Lake and Apache Iceberg, as data: without Spark and without Java."""
