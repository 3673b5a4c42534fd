"""Parquet files that no writer would make: changed footers, counterfactual files, canaries."""
