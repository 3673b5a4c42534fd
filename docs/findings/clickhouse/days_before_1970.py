import sys
from datetime import datetime

import chdb

time = datetime(1969, 12, 30, 23, 59, 59, 500000)
expected = str(time.replace(hour=0, minute=0, second=0, microsecond=0))
settings = "SETTINGS enable_extended_results_for_datetime_functions = 1"
sql = f"SELECT toStartOfDay(toDateTime64('{time}', 6, 'UTC')) {settings}"
actual = chdb.query(sql, "TSV").data().partition(".")[0]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
