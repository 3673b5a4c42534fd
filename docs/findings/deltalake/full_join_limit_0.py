import pyarrow as pa
from asking import ask, make
t = make("t", [pa.table({"b": [0, 0]})]); u = make("u", [pa.table({"u_a": [5, 0]})])
for limit in ("LIMIT 0", "LIMIT 1", ""):
    print(limit, ask(f"SELECT b, u_a FROM t FULL JOIN (SELECT * FROM u ORDER BY u_a DESC {limit}) AS u ON b = u_a WHERE u_a BETWEEN 0 AND 9", t=t, u=u))
