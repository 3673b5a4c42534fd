"""Versions of tables, and block metadata of their files, from Iceberg's metadata: without Spark and Java."""
