"""DuckDB 2.0.0: top-k counts a row group's first row twice, and leaves out a row group that holds a row of the answer."""
import tempfile
from pathlib import Path

import duckdb

# The values of whole row groups: 0 alone; one 0, the rest 2; 1 alone.
GROUPS = ("0", "CASE WHEN range = 0 THEN 0 ELSE 2 END", "1")
MIRRORED = ("1", "CASE WHEN range = 0 THEN 2 ELSE 0 END", "2")


def last(tail, switch, groups, rows, memory):
    """The last two rows of an answer."""
    with tempfile.TemporaryDirectory() as directory:
        connection = duckdb.connect()
        if not memory:
            connection.execute(f"ATTACH '{Path(directory, 't.db')}' AS disk (ROW_GROUP_SIZE {rows})")
            connection.execute("USE disk")
        connection.execute("CREATE TABLE t (a INTEGER)")
        for group in groups:
            connection.execute(f"INSERT INTO t SELECT {group} FROM range({rows})")
        connection.execute(switch)
        return [a for (a,) in connection.execute(f"SELECT a FROM t ORDER BY {tail}").fetchall()[-2:]]


def ask(name, tail, switch="SELECT 1", groups=GROUPS, rows=2048, memory=False):
    due = last(tail, "SET disabled_optimizers = 'row_group_pruner'", groups, rows, memory)
    print(f"{name:30} ORDER BY {tail:22}", last(tail, switch, groups, rows, memory), "without row_group_pruner", due)


print("duckdb", duckdb.__version__, "the last two rows of SELECT a FROM t ORDER BY a ...")
ask("as is", "a LIMIT 2050")
ask("one row fewer", "a LIMIT 2049")
ask("one row more", "a LIMIT 2051")
ask("OFFSET", "a LIMIT 2 OFFSET 2048")
ask("DESC, mirrored", "a DESC LIMIT 2050", groups=MIRRORED)
ask("first and second changed about", "a LIMIT 2050", groups=(GROUPS[1], GROUPS[0], GROUPS[2]))
ask("no 0 in the second", "a LIMIT 2050", groups=(GROUPS[0], GROUPS[1].replace("THEN 0", "THEN 1"), GROUPS[2]))
for optimizer in ("top_n", "late_materialization"):
    ask(f"without {optimizer}", "a LIMIT 2050", f"SET disabled_optimizers = '{optimizer}'")
ask("after CHECKPOINT", "a LIMIT 2050", "CHECKPOINT")
ask("in memory, groups of 122,880", "a LIMIT 122882", rows=122_880, memory=True)
