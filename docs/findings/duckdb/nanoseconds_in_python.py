"""DuckDB 2.0.0 in Python: nanoseconds before 1970 are cut towards 1970, where DuckDB's own functions round down."""
import duckdb

print("duckdb", duckdb.__version__)
for moment in ("1969-12-31 23:59:59.999999001", "1969-12-31 23:59:59.999998001", "1970-01-01 00:00:00.000000999"):
    value = f"TIMESTAMP_NS '{moment}'"
    print(value)
    for term in (value, f"date_trunc('microsecond', {value})", f"CAST({value} AS TIMESTAMP)", f"epoch_us({value})",
                 f"epoch_ns({value})"):
        print("   ", term.replace(value, "a"), "=", duckdb.execute(f"SELECT {term}").fetchone()[0])
