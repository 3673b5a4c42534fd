"""Ways to read Iceberg's metadata and tables that are wrong in one way each."""
