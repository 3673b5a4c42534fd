"""Block metadata from Iceberg's own metadata: one block per data file, without Spark and without Java."""
