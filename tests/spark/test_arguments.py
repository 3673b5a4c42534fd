"""Every public function refuses what is no argument of it, in one sentence and never with another error."""

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

import pruning
from pruning import dml, geography
from pruning.dml import MergeClause, Then, When, WhenClause
from pruning.errors import InputError

UPDATE = (MergeClause(when=When.MATCHED, then=Then.UPDATE),)
UPDATE_ALL = (WhenClause(when=When.MATCHED, then=Then.UPDATE, values="*"),)
UNRELATED = pa.table({"x": [1]})
NAMESAKE = pa.table({name: [1] for name in pruning.collect.__annotations__}).append_column("columns", [[1]])
PLACES = (None, 5, 1.5, b"t", "", "a\0b", "\ud800", [], [5], [None], [b"t"], {"t": 1}, object(), "nowhere")
TABLES = (UNRELATED, NAMESAKE, UNRELATED.to_batches()[0])
TEXTS = (
    None,
    5,
    b"id = 1",
    ["id = 1"],
    "",
    "id = ",
    "id",
    "id = 1 as z",
    "(id = 1) z",
    "nowhere = 1",
    "\ud800",
)
FLAGS = ("no", "yes", 0, 1, None, [])
NAMES = (5, "id", b"id", [5], [None], ["nowhere"], ["`a`.`b`"], {"id": 1})
PAIRS = (5, "id", ["id"], [("id",)], [("id", 5)], [("id", "day", "x")])
SIZES = (-1, 1.5, "1", True, float("nan"), 1 << 50)
KEYS = (
    5, "id", {5: [1]}, {"id": "12"}, {"id": b"12"}, {"id": 5}, {"id": None}, {"id": {"a": 1}}, {"id": ["x"]},
    {"id": [2**64]}, {"id": [-(2**70)]}, {"id": [1.5]}, {"id": [True]}, {"id": [object()]}, {"nowhere": [1]},
)  # fmt: skip
TIMES = ("yesterday", b"2026-01-01", -1, True, float("nan"), 1e300, ["2026-01-01"], "1970-01-02")
LEVELS = (None, 5, True, "", "row group", "PAGE", b"page", ["page"], object())
DEGREES = (None, "5", True, 91, float("nan"))

MODES = ("copy-on-write", 5, True, "merge on read", Then.UPDATE)
ASSIGNMENTS = (
    None, 5, "id = 1", {}, [("id", "1")], {5: "1"}, {"id": 5}, {"id": None}, {"id": ""}, {"id": "id +"},
    {"id": "nowhere"}, {"nowhere": "1"}, {"id": "1", "ID": "2"}, {"id": "'no number'"}, {"id": "\ud800"},
    {"id": "sum(id)"},
)  # fmt: skip


@functools.cache
def delta_table() -> str:
    """Write a table of Delta Lake, and return its directory, which is deleted at the end."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
    return folder


def merge_into(df: Any, **arguments: Any) -> Any:
    """Execute a MERGE into a table of the working directory."""
    if not Path("t").exists():
        write_deltalake("t", pa.table({"id": [1]}))
    rest = {"table": "t", "source": df, "keys": {"id": "id"}, "clauses": UPDATE_ALL, **arguments}
    return dml.merge(df.sparkSession, **rest)


# A public function and one of its arguments: how it is called, and what is no such argument.
CASES: dict[str, tuple[Callable[[Any, str, Any], Any], tuple[Any, ...]]] = {
    "collect paths": (lambda wrong, path, df: pruning.collect(wrong), (*PLACES, *TABLES)),
    "collect spark": (lambda wrong, path, df: pruning.collect(path, spark=wrong), (5, "spark", True)),
    "collect columns": (lambda wrong, path, df: pruning.collect(path, columns=wrong), NAMES),
    "blocks spark": (lambda wrong, path, df: pruning.blocks(path, spark=wrong), (5, "spark", b"")),
    "collect cache": (lambda wrong, path, df: pruning.collect(path, cache=wrong), FLAGS),
    "collect verify": (lambda wrong, path, df: pruning.collect(path, verify=wrong), FLAGS),
    "collect level": (lambda wrong, path, df: pruning.collect(path, level=wrong), LEVELS),
    "classify level": (lambda wrong, path, df: pruning.classify("id = 1", path, level=wrong), LEVELS),
    "collect as_of": (lambda wrong, path, df: pruning.collect(path, as_of=wrong), TIMES),
    "backfill paths": (lambda wrong, path, df: pruning.backfill(wrong), (*PLACES, *TABLES)),
    "backfill columns": (lambda wrong, path, df: pruning.backfill(path, wrong), NAMES),
    "blocks paths": (lambda wrong, path, df: pruning.blocks(wrong), (*PLACES, *TABLES)),
    "blocks columns": (lambda wrong, path, df: pruning.blocks(path, columns=wrong), NAMES),
    "blocks as_of": (lambda wrong, path, df: pruning.blocks(path, as_of=wrong), TIMES),
    "classify predicate": (lambda wrong, path, df: pruning.classify(wrong, path), TEXTS),
    "classify where": (lambda wrong, path, df: pruning.classify("id = 1", wrong), (*PLACES, *TABLES)),
    "index paths": (lambda wrong, path, df: pruning.index(wrong), (*PLACES, *TABLES)),
    "index columns": (lambda wrong, path, df: pruning.index(path, wrong), NAMES),
    "index points": (lambda wrong, path, df: pruning.index(path, points=wrong), PAIRS),
    "index bytes": (lambda wrong, path, df: pruning.index(path, bytes_per_block=wrong), SIZES),
    "index bits": (
        lambda wrong, path, df: pruning.index(path, bits_per_value=wrong),
        (*SIZES[:1], *SIZES[2:], 65),
    ),
    "index read_data": (lambda wrong, path, df: pruning.index(path, read_data=wrong), FLAGS),
    "table spark": (lambda wrong, path, df: pruning.table(wrong, path), (None, 5, "spark")),
    "table path": (lambda wrong, path, df: pruning.table(df.sparkSession, wrong), (*PLACES, *TABLES)),
    "table version": (
        lambda wrong, path, df: pruning.table(df.sparkSession, path, version=wrong),
        (-1, True, 1.5, b"1", "", [1], 0),
    ),
    "table timestamp": (
        lambda wrong, path, df: pruning.table(df.sparkSession, path, timestamp=wrong),
        TIMES,
    ),
    "prune df": (lambda wrong, path, df: pruning.prune(wrong), PLACES),
    "prune runtime": (lambda wrong, path, df: pruning.prune(df, runtime=wrong), FLAGS),
    "prune as_of": (lambda wrong, path, df: pruning.prune(df, as_of=wrong), TIMES),
    "prune cache": (lambda wrong, path, df: pruning.prune(df, cache=wrong), (5, {}, "cache", True)),
    "explain cache": (lambda wrong, path, df: pruning.explain(df, cache=wrong), (5, {}, "cache", True)),
    "PredicateCache entries_max": (
        lambda wrong, path, df: pruning.PredicateCache(wrong),
        (None, 0, *SIZES[:-1]),
    ),
    "PredicateCache blocks_max": (
        lambda wrong, path, df: pruning.PredicateCache(blocks_max=wrong),
        (None, 0, *SIZES[:-1]),
    ),
    "PredicateCache directory": (
        lambda wrong, path, df: pruning.PredicateCache(directory=wrong),
        (5, b"t", "", "a\0b", [], ["t"], object()),
    ),
    "explain df": (lambda wrong, path, df: pruning.explain(wrong), PLACES),
    "explain runtime": (lambda wrong, path, df: pruning.explain(df, runtime=wrong), FLAGS),
    "delete predicate": (lambda wrong, path, df: dml.plan_delete(wrong, path), TEXTS),
    "delete where": (lambda wrong, path, df: dml.plan_delete("id = 1", wrong), (*PLACES, *TABLES)),
    "update predicate": (lambda wrong, path, df: dml.plan_update(wrong, path), TEXTS),
    "update where": (lambda wrong, path, df: dml.plan_update("id = 1", wrong), (*PLACES, *TABLES)),
    "dml.delete spark": (lambda wrong, path, df: dml.delete(wrong, delta_table(), "id = 1"), (None, 5, "s")),
    "dml.delete table": (
        lambda wrong, path, df: dml.delete(df.sparkSession, wrong, "id = 1"),
        (*PLACES, *TABLES),
    ),
    "dml.delete where": (
        lambda wrong, path, df: dml.delete(df.sparkSession, delta_table(), wrong),
        (*TEXTS, "rand() < 0.5", "id IN (1"),
    ),
    "dml.delete mode": (
        lambda wrong, path, df: dml.delete(df.sparkSession, delta_table(), "id = 1", mode=wrong),
        MODES,
    ),
    "dml.update table": (
        lambda wrong, path, df: dml.update(df.sparkSession, wrong, {"id": "1"}),
        (*PLACES, *TABLES),
    ),
    "dml.update assignments": (
        lambda wrong, path, df: dml.update(df.sparkSession, delta_table(), wrong, "id = 1"),
        ASSIGNMENTS,
    ),
    "dml.update where": (
        lambda wrong, path, df: dml.update(df.sparkSession, delta_table(), {"id": "1"}, wrong),
        TEXTS,
    ),
    "dml.update mode": (
        lambda wrong, path, df: dml.update(df.sparkSession, delta_table(), {"id": "1"}, mode=wrong),
        MODES,
    ),
    "merge where": (lambda wrong, path, df: dml.plan_merge(wrong, UPDATE), (*PLACES, *TABLES)),
    "merge clauses": (
        lambda wrong, path, df: dml.plan_merge(path, wrong),
        (None, 5, "x", (), UPDATE[0], ["x"]),
    ),
    "merge keys": (lambda wrong, path, df: dml.plan_merge(path, UPDATE, keys=wrong), KEYS),
    "merge null_safe": (lambda wrong, path, df: dml.plan_merge(path, UPDATE, null_safe=wrong), FLAGS),
    "merge on": (lambda wrong, path, df: dml.plan_merge(path, UPDATE, on=wrong), TEXTS[1:]),
    "merge on_more": (lambda wrong, path, df: dml.plan_merge(path, UPDATE, on_more=wrong), FLAGS),
    "dml.merge table": (
        lambda wrong, path, df: merge_into(df, table=wrong),
        (None, 5, b"t", {"t": 1}, "nowhere"),
    ),
    "dml.merge source": (lambda wrong, path, df: merge_into(df, source=wrong), (None, 5, "id", UNRELATED)),
    "dml.merge keys": (
        lambda wrong, path, df: merge_into(df, keys=wrong),
        (None, 5, "id", ["id"], {}, {5: "id"}, {"id": 5}, {"id": None}, {"id": "\ud800"}),
    ),
    "dml.merge clauses": (
        lambda wrong, path, df: merge_into(df, clauses=wrong),
        (None, 5, "x", (), UPDATE, ["x"], UPDATE_ALL[0], UPDATE_ALL * 2),
    ),
    "dml.merge on": (lambda wrong, path, df: merge_into(df, on=wrong), (5, b"id = 1", ["id = 1"], "\ud800")),
    "dml.merge mode": (lambda wrong, path, df: merge_into(df, mode=wrong), ("copy-on-write", 5, True)),
    "when_clause values": (
        lambda wrong, path, df: WhenClause(when=When.MATCHED, then=Then.UPDATE, values=wrong),
        (None, 5, "id", {}, ["id"]),
    ),
    "clause condition": (
        lambda wrong, path, df: dml.plan_merge(
            path, [MergeClause(when=When.MATCHED, then=Then.UPDATE, condition=wrong)]
        ),
        TEXTS[1:],
    ),
    "within_box": (lambda wrong, path, df: geography.within_box("a", "b", wrong, 0, 1, 1), DEGREES),
    "within_box column": (
        lambda wrong, path, df: geography.within_box(wrong, "b", 0, 0, 1, 1),
        (None, 5, b"a"),
    ),
    "within_distance": (
        lambda wrong, path, df: geography.within_distance("a", "b", 0, 0, wrong),
        (None, "5", -1),
    ),
    "within_polygon": (
        lambda wrong, path, df: geography.within_polygon("a", "b", wrong),
        (None, 5, "corners", [], [(0, 0), (1, 1)], [(0, 0), (1, 1), (0, 200)], [(0, 0), 1, 2]),
    ),
    "register": (lambda wrong, path, df: geography.register(wrong), (None, 5, "spark")),
}


@pytest.fixture(scope="module")
def frame(spark: Any, flights: str) -> Any:
    """A query over the flights."""
    return spark.read.parquet(flights).where("id = 1")


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_argument_is_refused_in_one_sentence(
    case: str, flights: str, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each value that is none: `InputError`, and neither another error nor an answer."""
    monkeypatch.chdir(tmp_path)
    call, values = CASES[case]
    for wrong in values:
        sentence = refusal(lambda value=wrong: call(value, flights, frame))
        assert sentence is not None, f"{case} accepted {wrong!r}"
        assert "\n" not in sentence, wrong
        assert len(sentence) < 600, wrong


def refusal(call: Callable[[], Any]) -> str | None:
    """The sentence by which a call refuses its argument; None where it does not."""
    try:
        call()
    except InputError as error:
        return str(error)
    return None


def test_every_public_function_is_in_the_table() -> None:
    public = {*pruning.__all__, *(name[5:] for name in dml.__all__ if name.startswith("plan_"))}
    public |= {f"dml.{name}" for name in dml.__all__ if name.islower() and not name.startswith("plan_")}
    assert {case.split()[0] for case in CASES} >= public


def test_what_spark_names_inside_a_predicate_is_no_alias(flights: str) -> None:
    """Only the whole predicate has no name."""
    assert pruning.classify("named_struct('z', id).z < 0 or id < 0", flights).to_pylist() == [0] * 30
    assert set(pruning.classify("(struct(id as z)).z >= 0", flights).to_pylist()) <= {1, 2}


def test_a_path_may_be_anything_that_names_a_file(flights: str) -> None:
    """Text, a path object, or any collection of them."""
    files = [f"{flights}/{name}" for name in sorted(os.listdir(flights)) if name.endswith("parquet")]
    expected = pruning.collect(files).num_rows
    for paths in (flights, Path(flights), tuple(files), iter(files), map(Path, files)):
        assert pruning.collect(paths).num_rows == expected
