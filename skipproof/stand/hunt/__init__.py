"""The hunt: worlds are examined, failures made small, confirmed and kept."""
