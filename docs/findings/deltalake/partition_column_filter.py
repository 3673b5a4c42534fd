import pyarrow as pa
from asking import ask, deleted, make
blocks = [pa.table({"a": pa.array([0, 1, None, 2], pa.int32()), "rid": [0, 1, 2, 3]})]
for where in ("a < a", "a <> a", "a = a", "a IN (NULL)", "a IN (NULL, 1)"):
    print(where, "| plain:", ask("SELECT rid FROM t WHERE " + where + " ORDER BY rid", t=make("p" + where, blocks)),
          "| partitioned by a:", ask("SELECT rid FROM t WHERE " + where + " ORDER BY rid", t=make("q" + where, blocks, partition_by=["a"])))
for where in ("a <> a", "a IN (NULL)"):
    for options in ({}, {"partition_by": ["a"]}):
        t = make("d" + where + str(len(options)), blocks, **options)
        print("after DELETE", where, options, deleted(t, where, "rid"))
