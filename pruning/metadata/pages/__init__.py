"""Pages: the page indexes of Parquet files, what is believed of them, and blocks that are runs of pages."""
