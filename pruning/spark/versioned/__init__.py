"""DataFrames over one version of a table of Delta Lake or Iceberg, and leaves of plans that read them."""
