"""Parquet files made otherwise than a writer would: footers changed, counterfactual files, canaries."""
