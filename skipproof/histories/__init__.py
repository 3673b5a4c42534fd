"""`skipproof history`: isolation checks of recorded histories, with witnesses of the anomalies."""
