"""Tables of Apache Iceberg in a plan: their files, by Iceberg's own planning, and scans of some of them."""
