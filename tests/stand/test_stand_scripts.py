"""The script of a finding runs alone, also where the engine was wrong about tables without files."""

import json
import subprocess
import sys

import pytest
from needs import needs_package

from strategies.engines.questions import Question, Relation

PACKAGES = {
    "arrow": "pyarrow",
    "datafusion": "datafusion",
    "deltalake": "deltalake",
    "duckdb": "duckdb",
    "duckdb-tables": "duckdb",
    "iceberg": "pyiceberg",
    "polars": "polars",
    "spark": "pyspark",  # skipproof opens tables as Spark does
}
# Their adapters make no nested values.
FLAT = ("duckdb", "duckdb-tables", "iceberg")
NESTED = ("many", "pair")
COLUMNS = {
    "rid": ("int64", [0, 1, 2, 3]),
    "i": ("int32", [-5, None, 7, 2**31 - 1]),
    "f": ("float64", ["NaN", "-Infinity", None, -0.0]),
    "g": ("float32", ["-NaN", "Infinity", 0.5, None]),
    "d": ("decimal(9,2)", ["-1.50", None, "0.00", "99.99"]),
    "s": ("string", ["it's", '"\\', None, "é\n"]),
    "b": ("binary", ["", "00ff27", None, "5c"]),
    "day": ("date", [-1, 0, None, 20_000]),
    "t": ("timestamp(us)", [-1, 10**15 + 1, None, 0]),
    "u": ("timestamp(us,UTC)", [-1, None, 10**15 + 1, 0]),
    "n": ("timestamp(ns)", [-1_000, None, 10**18, 0]),
    "many": ("list(int64)", [[1, None], [], None, [2]]),
    "pair": ("struct(x int64, y string)", [{"x": 1, "y": None}, None, {"x": None, "y": "it's"}, None]),
}
# What the script prints is read again; all before it is the script's own.
PRINTING = """
import json
from skipproof.stand.adapters.serving import to_json
print(json.dumps([[to_json(cell) for cell in row] for row in answer]))
"""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.deep] if place % 2 else [])
        for place, name in enumerate(PACKAGES)
    ],
)
def test_a_script_makes_the_rows_that_no_file_holds(name, engine_worker, tmp_path):
    """Of every type that the engine takes, with NULLs and what is hard to quote."""
    needs_package(PACKAGES[name])
    worker = engine_worker(name)
    lacks = worker.hello.types_missing
    offered = {n: of for n, of in COLUMNS.items() if name not in FLAT or n not in NESTED}
    taken = {n: of for n, of in offered.items() if not {of[0], of[0].partition("(")[0]} & lacks}
    blocks = [[list(row)] for row in zip(*(values for _, values in taken.values()), strict=True)]
    columns = [{"name": n, "type": type_} for n, (type_, _) in taken.items()]
    whole = Question(area="filter", source=Relation(table="t"), select=tuple(taken))
    reply = worker.ask(
        tables={"t": {"columns": columns, "blocks": blocks, "statistics": False}},
        settings={},
        questions=[whole.json()],
        sources=True,
    )
    assert "answers" in reply, reply
    answer = reply["answers"][0]
    ran = subprocess.run(
        [sys.executable, "-c", answer["source"] + PRINTING], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    assert sorted(json.loads(ran.stdout), key=str) == sorted(answer["rows"], key=str)
    assert len(answer["rows"]) == 4
