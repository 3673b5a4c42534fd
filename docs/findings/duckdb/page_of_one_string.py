"""DuckDB 2.0.0: a page whose header says min = max of a string is taken to hold no NULL, is skipped, and its rows come as NULL."""
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

path = tempfile.mkdtemp() + "/t.parquet"


def ask(name, values, query, kind=pa.string(), **options):
    column = pa.array(values, kind)
    table = pa.table({"a": column, "rid": pa.array(range(len(values)))})
    pq.write_table(table, path, use_dictionary=False, **options)
    answers = {}
    for switch in ("", "filter_pushdown", "top_n"):
        connection = duckdb.connect()
        connection.execute(f"SET disabled_optimizers = '{switch}'")
        answers[f"without {switch}" if switch else "as is"] = connection.execute(query).fetchall()
    connection = duckdb.connect()
    connection.register("arrow", table)
    memory = connection.execute("CREATE TABLE m AS FROM arrow").execute(query.replace(f"'{path}'", "m")).fetchall()
    print(name, "|", query.replace(f"'{path}'", "t"))
    for form, rows in (answers | {"in memory": memory}).items():
        print("   ", form, rows)


print("duckdb", duckdb.__version__, "pyarrow", pa.__version__)
NULLS = f"SELECT a, rid FROM '{path}' WHERE a IS NULL"
ask("[NULL, 'a']", [None, "a"], NULLS)
ask("the same, footer statistics and page index, none in page headers", [None, "a"], NULLS, write_page_index=True)
ask("bytes", [None, b"a"], NULLS, pa.binary())
ask("two values in the page", [None, "a", "b"], NULLS)
ask("32-bit integers", [None, 1], NULLS, pa.int32())
TOP = f"SELECT a, rid FROM '{path}' ORDER BY a DESC NULLS FIRST LIMIT 1"
ask("no NULL at all, groups of 2", ["a"] * 5 + ["c"], TOP, row_group_size=2)
ask("the same, none in page headers", ["a"] * 5 + ["c"], TOP, row_group_size=2, write_page_index=True)
