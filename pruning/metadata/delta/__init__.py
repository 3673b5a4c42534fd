"""Tables of Delta Lake: their log, and block metadata from its statistics, without Spark and without Java."""
