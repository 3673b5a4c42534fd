"""DuckDB 2.0.0: bounds without NaN are taken for all of a Parquet column of floats."""
import tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

root = tempfile.mkdtemp()
table = pa.table({"a": pa.array([1.0, float("nan")]), "rid": pa.array([0, 1])})
pq.write_table(table, f"{root}/nan.parquet")
pq.write_table(table, f"{root}/nan_without.parquet", write_statistics=False)
FORMS = {
    "file": f"read_parquet('{root}/nan.parquet')",
    "no statistics": f"read_parquet('{root}/nan_without.parquet')",
    "can_have_nan": f"read_parquet('{root}/nan.parquet', can_have_nan = true)",
}
NAN = "'NaN'::DOUBLE"
print("duckdb", duckdb.__version__, "pyarrow", pa.__version__, "rows: (1.0, 0), (NaN, 1)")
for condition in ("a <> 1", "a IS DISTINCT FROM 1", "a > 1", f"a = {NAN}", f"a IS NOT DISTINCT FROM {NAN}", "isnan(a)",
                  "a = 1", "a <= 1", "a IN (1)"):
    answers = [[rid for (rid,) in duckdb.connect().execute(f"SELECT rid FROM {form} WHERE {condition}").fetchall()]
               for form in FORMS.values()]
    print(f"{condition:40}", dict(zip(FORMS, answers)))
print("max(a)", [duckdb.connect().execute(f"SELECT max(a) FROM {form}").fetchone()[0] for form in FORMS.values()])
