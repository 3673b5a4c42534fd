import sys
import tempfile

from datafusion import SessionContext

rows, path = [-0.0], tempfile.mkdtemp() + "/t.parquet"
ctx = SessionContext()
ctx.sql("SET datafusion.execution.parquet.bloom_filter_on_read = true")
values = ", ".join(f"(CAST('{a}' AS DOUBLE))" for a in rows)
options = "STORED AS PARQUET OPTIONS ('bloom_filter_on_write' 'true')"
ctx.sql(f"COPY (SELECT * FROM (VALUES {values}) AS t(a)) TO '{path}' {options}").collect()
ctx.sql(f"CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{path}'")
expected = [a for a in rows if a == 0.0]
actual = ctx.sql("SELECT a FROM t WHERE a = CAST('0.0' AS DOUBLE)").to_pydict()["a"]
print(f"expected {expected}\nactual {actual}")
sys.exit(expected != actual)
