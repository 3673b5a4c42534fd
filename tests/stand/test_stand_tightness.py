"""Tightness is measured from answers alone: over canaries, over rows that do not match, and over traps."""

from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from skipproof.stand.hunt.examining import examine
from skipproof.stand.hunt.tightness import FULL, Tightness, measure_tightness
from skipproof.stand.workers.workers import PROTOCOL, Hello
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.files import write_stored
from strategies.engines.questions import Call, Column, Join, Key, Literal, Question, Relation
from strategies.engines.worlds import World

A, RID = Column("a", "int64"), Column("rid", "int64")
BLOCKS = (((1, 0), (2, 1)), ((5, 2), (6, 3)), ((8, 4), (9, 5)))


class Reader:
    """Answers `a >= x`, LIMIT, the least `a` and a semi join.

    Args:
        prunes: Whether bounds are looked at before a row group is read, and reading stops at a LIMIT.
    """

    def __init__(self, *, prunes: bool) -> None:
        self.prunes = prunes
        self.hello = Hello.from_message(
            {"protocol": PROTOCOL, "engine": "reader", "version": "1", "tables": "files", "areas": ["filter"]}
        )

    def ask(self, **request: Any) -> dict[str, Any]:
        try:
            return {"answers": [self._answer(one, request["tables"]) for one in request["questions"]]}
        except OSError as error:
            return {"answers": [{"error": str(error), "kind": "failed"}]}

    def close(self) -> None:
        pass

    def _answer(self, question: Any, tables: Any) -> Any:
        where = question["source"]["where"]
        bound = where["of"][1]["literal"] if where else None
        wanted = None if question["join"] is None else _keys(tables["u"])
        rows: list[Any] = []
        for low, high, read in _groups(tables["t"]):
            if self.prunes and bound is not None and high < bound:
                continue
            if self.prunes and wanted is not None and (high < min(wanted) or low > max(wanted)):
                continue
            if self.prunes and question["limit"] is not None and len(rows) >= question["limit"]:
                # The blocks are in the order of `a`, so that this serves ORDER BY a too.
                break
            full = self.prunes and bound is not None and low >= bound
            found = read()
            rows += [row for row in found if full or bound is None or row[0] >= bound]
        if wanted is not None:
            rows = [row for row in rows if row[0] in wanted]
        if question["order"]:
            rows.sort()
        limit = question["limit"]
        places = [("a", "rid").index(name) for name in question["select"]]
        return {"rows": [[row[place] for place in places] for row in rows[:limit]]}


def _keys(table: Any) -> list[int]:
    in_files = [key for path in table.get("files", ()) for key in pq.read_table(path)["u_a"].to_pylist()]
    return in_files or [row[0] for block in table["blocks"] for row in block]


def _groups(table: Any) -> Any:
    """The bounds of each row group, and what reads it."""
    for path in table.get("files", ()):
        file = pq.ParquetFile(path)
        for ordinal in range(file.num_row_groups):
            stated = file.metadata.row_group(ordinal).column(0).statistics

            def read(file: Any = file, ordinal: int = ordinal) -> Any:
                rows = file.read_row_group(ordinal)
                assert pc.count(rows["a"]).as_py() == len(rows)
                return list(zip(rows["a"].to_pylist(), rows["rid"].to_pylist(), strict=True))

            yield stated.min, stated.max, read
    for block in table.get("blocks", ()):
        cells = [row[0] for row in block]
        yield min(cells), max(cells), lambda block=block: block


def world(question: Question) -> World:
    tables = {"t": StoredTable(columns=(A, RID), blocks=BLOCKS, layout=StoredLayout(blocks_per_file=2))}
    if question.join is not None:
        columns = (Column("u_a", "int64"), Column("u_rid", "int64"))
        tables["u"] = StoredTable(columns=columns, blocks=(((5, 0), (6, 1)),))
    return World(tables=tables, settings={}, questions=(question,))


def tightness(question: Question, *, prunes: bool) -> list[Tightness]:
    reader = Reader(prunes=prunes)
    (outcome,) = examine(reader, world(question))
    assert outcome.contradiction is None
    return list(measure_tightness(reader, world(question), outcome, write=write_stored))


def at_least(value: int) -> Call:
    return Call(">=", (A, Literal(value, "int64")))


FILTER = Question(area="filter", source=Relation(table="t", where=at_least(5)), select=("rid",))
LIMIT = Question(area="limit", source=Relation(table="t"), select=("rid",), limit=1)
TOP = Question(area="topk", source=Relation(table="t"), select=("a", "rid"), order=(Key(A),), limit=2)
JOIN = Question(
    area="join",
    source=Relation(table="t"),
    select=("rid",),
    join=Join(kind="semi", right=Relation(table="u"), left_key="a", right_key="u_a"),
)


@pytest.mark.parametrize("prunes", [True, False], ids=["prunes", "reads all"])
def test_a_filter_skips_and_is_left_out_as_canaries_see(prunes):
    by_filter, where_all_match = tightness(FILTER, prunes=prunes)
    assert by_filter == Tightness("ordering", 1, int(prunes))
    assert where_all_match == Tightness(FULL, 2, 2 * prunes)


@pytest.mark.parametrize("prunes", [True, False], ids=["prunes", "reads all"])
@pytest.mark.parametrize("question", [LIMIT, TOP, JOIN], ids=["limit", "topk", "join"])
def test_traps_show_what_a_limit_an_order_and_a_join_leave_unread(question, prunes):
    assert tightness(question, prunes=prunes) == [Tightness(question.area, 2, 2 * prunes)]


def test_traps_say_nothing_where_a_filter_leaves_rows_out_too():
    both = Question(area="limit", source=Relation(table="t", where=at_least(5)), select=("rid",), limit=1)
    assert tightness(both, prunes=True) == []
