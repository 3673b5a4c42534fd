# DataFusion: `a = '...'` over Hive directories looks for one spelling of the value, though both are read; IN (...) looks at all.
import shutil, string, tempfile
from pathlib import Path
from urllib.parse import quote
import pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
from datafusion import SessionContext
place = Path(tempfile.mkdtemp()) / "t"
def ask(write, *where):
    shutil.rmtree(place, ignore_errors=True)
    write()
    ctx = SessionContext()
    ctx.sql(f"CREATE EXTERNAL TABLE t (a VARCHAR, rid BIGINT) STORED AS PARQUET PARTITIONED BY (a) LOCATION '{place}/'")
    return [[r["a"] for b in ctx.sql("SELECT a FROM t" + w).collect() for r in b.to_pylist()] for w in where]
def directory(name):
    (place / f"a={name}").mkdir(parents=True)
    pq.write_table(pa.table({"rid": [0]}), place / f"a={name}" / "0.parquet")
def by_pyarrow():
    ds.write_dataset(pa.table({"a": ["x:y"], "rid": [0]}), place, format="parquet", partitioning=ds.partitioning(pa.schema([("a", pa.string())]), flavor="hive"))
def by_datafusion():
    SessionContext().sql(f"COPY (SELECT 'x:y' AS a, 0 AS rid) TO '{place}/' STORED AS PARQUET PARTITIONED BY (a)").collect()
forms = ["", " WHERE a = 'x:y'", " WHERE a IN ('x:y', 'z')", " WHERE a || '' = 'x:y'"]
for name, write in [("a=x:y  ", lambda: directory("x:y")), ("a=x%3Ay", lambda: directory("x%3Ay")), ("pyarrow", by_pyarrow), ("DataFusion", by_datafusion)]:
    rows = ask(write, *forms)
    print(name, [p.name for p in place.iterdir()], dict(zip(forms, rows)))
lost = {"as it is": "", "escaped": ""}
for c in string.punctuation + " é":
    value, literal = f"x{c}y", f"x{c}y".replace("'", "''")
    for spelling, written in [("as it is", value), ("escaped", f"x{quote(c, safe='') if quote(c, safe='') != c else f'%{ord(c):02X}'}y")]:
        if "/" not in written:
            plain, equal, listed = ask(lambda: directory(written), "", f" WHERE a = '{literal}'", f" WHERE a IN ('{literal}', 'z')")
            assert plain == listed == [value], (written, plain, listed)
            lost[spelling] += "" if equal == [value] else c
for spelling, characters in lost.items():
    print(f"lost by =, where the directory has the character {spelling}: {characters}")
