import sys
from datetime import datetime, timedelta

import duckdb

nanoseconds = -999
# As a cast of DuckDB to microseconds rounds: down.
expected = datetime(1970, 1, 1) + timedelta(microseconds=nanoseconds // 1000)
actual = duckdb.sql(f"SELECT make_timestamp_ns({nanoseconds})").fetchall()[0][0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
