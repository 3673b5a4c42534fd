"""DuckDB 2.0.0: LIMIT with OFFSET over a filter that statistics prove empty is an internal error."""
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

root = tempfile.mkdtemp()
table = pa.table({"a": [5, 5, 5], "b": [0, 0, 0], "c": [0, 1, 2]})
pq.write_table(table, f"{root}/late.parquet")
pq.write_table(table, f"{root}/late_without.parquet", write_statistics=False)


def ask(name, query, *switches):
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE m AS FROM '{root}/late.parquet'")
    for switch in switches:
        connection.execute(switch)
    try:
        answer = connection.execute(query).fetchall()
    except duckdb.Error as error:
        answer = f"{type(error).__name__}: {str(error).splitlines()[0]} {str(error).splitlines()[1]}"[:130]
    print(f"{name:28}", answer)


print("duckdb", duckdb.__version__, "pyarrow", pa.__version__)
QUERY = f"SELECT c FROM '{root}/late.parquet' WHERE a <= 4 AND b <= a LIMIT 5 OFFSET 1"
print(QUERY.replace(root, "/tmp"))
ask("as is", QUERY)
ask("OFFSET 0", QUERY.replace("OFFSET 1", "OFFSET 0"))
ask("no OFFSET", QUERY.replace(" OFFSET 1", ""))
ask("a and b selected too", QUERY.replace("SELECT c", "SELECT a, b, c"))
ask("one filter", QUERY.replace(" AND b <= a", ""))
ask("without statistics", QUERY.replace("late.parquet", "late_without.parquet"))
ask("in memory", QUERY.replace(f"'{root}/late.parquet'", "m"))
for switch in ("late_materialization", "statistics_propagation", "column_lifetime", "limit_pushdown", "filter_pushdown"):
    ask(f"without {switch}", QUERY, f"SET disabled_optimizers = '{switch}'")
