"""Runs programs: on Arrow arrays of many blocks, on exact Python values of one, on Z3's terms of all."""
