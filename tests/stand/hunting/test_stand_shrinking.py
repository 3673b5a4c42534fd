"""Shrinking removes the parts that a failure does not need, and leaves a world that can be drawn."""

from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from searches import find

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.shrinking import smaller_worlds
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_tables import StoredLayout, StoredTable, is_consistent
from strategies.engines.questions import AREAS, Call, Column, Join, Key, Literal, Question, Relation, subterms
from strategies.engines.worlds import World, worlds

ANYTHING = Capabilities(
    areas=AREAS,
    settings={"one": ("on", "off"), "two": ("on", "off")},
    writers={"pyarrow": {}, "duckdb": {"size": (1, 2)}},
)
A, B, RID = Column("a", "int32"), Column("b", "string"), Column("rid", "int64")
# Reaching is the claim; shrinking what was reached would take most of the time.
REACHING = settings(max_examples=2_000, phases=(Phase.generate,))
ODD = StoredLayout(
    statistics=("a", "b"), page_index=True, filters=("a", "b"), blocks_per_file=2, dictionary=False
)
TABLE = StoredTable(
    columns=(A, B, RID),
    blocks=(((7, "foo", 0), (None, "b", 1)), ((3, None, 2),), ((-1, "a", 3), (5, "c", 4), (5, "c", 5))),
    layout=ODD,
)
WHERE = Call(
    "and", (Call("is null", (A,)), Call("not", (Call("in", (B, *(Literal(x, "string") for x in "xyz"))),)))
)


def least(world: World, fails) -> World:
    """Return the smallest world that still fails."""

    def examine_candidate(candidate: World) -> QuestionResult | None:
        return QuestionResult(question=candidate.questions[0]) if fails(candidate) else None

    for one, _ in smaller_worlds(world, examine_candidate, tries_max=10_000):
        world = one
    return world


def world(question: Question, **tables: StoredTable) -> World:
    return World(tables={"t": TABLE} | tables, settings={"one": "off", "two": "off"}, questions=(question,))


def test_of_a_failure_that_needs_nothing_nothing_is_left() -> None:
    question = Question(area="filter", source=Relation(table="t", where=WHERE), select=("rid",))
    found = least(world(question), lambda _: True)
    (table,) = found.tables.values()
    assert (found.settings, table.layout, table.blocks, len(table.queried_columns)) == (
        {},
        StoredLayout(),
        ((),),
        1,
    )
    assert found.questions == (replace(question, source=Relation(table="t")),)


def test_each_thing_that_a_failure_needs_stays_alone() -> None:
    """One setting, one oddity of the layout, one atom of the condition, one row, and plain values."""
    question = Question(area="filter", source=Relation(table="t", where=WHERE), select=("rid",))

    def fails(candidate: World) -> bool:
        (table,), (asked,) = candidate.tables.values(), candidate.questions
        parts = [part for term in asked.terms for part in subterms(term)]
        return (
            candidate.settings.get("two") == "off"
            and "b" in table.layout.filters
            and any(isinstance(part, Call) and part.function == "in" for part in parts)
            and any(cell is not None for cell in table.cells("b"))
        )

    found = least(world(question), fails)
    (table,) = found.tables.values()
    assert found.settings == {"two": "off"}
    assert table.layout == StoredLayout(filters=("b",))
    b = Column("b", "int32")
    assert (table.columns, [len(block) for block in table.blocks]) == ((b, RID), [1])
    assert table.cells("b") == [0]
    assert found.questions[0].source.where == Call("in", (b, Literal(0, "int32")))


def test_a_type_that_a_failure_does_not_need_becomes_integers_in_the_same_order() -> None:
    """The text of a column is not needed, only that one value is above a literal, and below another."""
    texts = Call("and", (Call(">", (B, Literal("b", "string"))), Call("<", (B, Literal("z", "string")))))
    question = Question(
        area="topk", source=Relation(table="t", where=texts), select=("b", "rid"), order=(Key(B),)
    )

    def fails(candidate: World) -> bool:
        (table,), (asked,) = candidate.tables.values(), candidate.questions
        terms = list(asked.terms)
        if len(terms) < 2 or not isinstance(terms[-1], Call) or terms[-1].function != "and":
            return False
        low, high = (part.of[1] for part in terms[-1].of)
        return any(cell is not None and low.value < cell < high.value for cell in table.cells("b"))

    found = least(world(question), fails)
    (table,) = found.tables.values()
    integer = Column("b", "int32")
    low, high = Literal(0, "int32"), Literal(2, "int32")
    assert table.columns == (integer, RID)
    assert table.cells("b") == [1]
    assert found.questions[0].order == (Key(integer),)
    assert found.questions[0].source.where == Call(
        "and", (Call(">", (integer, low)), Call("<", (integer, high)))
    )


def test_a_type_that_a_function_asks_for_stays() -> None:
    """There is no LIKE of integers, and no integer is a condition."""
    flag = Column("c", "boolean")
    table = StoredTable(columns=(B, flag, RID), blocks=((("foo", True, 0),),))
    for where in (Call("like", (B, Literal("f%", "string"))), flag):
        question = Question(area="filter", source=Relation(table="t", where=where), select=("rid",))
        found = least(world(question, t=table), lambda one: one.questions[0].source.where is not None)
        (column,) = next(iter(found.tables.values())).queried_columns
        assert column.type in ("string", "boolean")


def test_of_joins_relations_keys_and_limits_are_left_out() -> None:
    right = replace(
        TABLE, columns=(Column("u_a", "int32"), Column("u_b", "string"), Column("u_rid", "int64"))
    )
    number = Key(Column("u_rid", "int64"))
    join = Join(
        kind="left",
        right=Relation(
            table="u", where=Call("is null", (Column("u_b", "string"),)), order=(number,), limit=1
        ),
        left_key="a",
        right_key="u_a",
        null_safe=True,
    )
    question = Question(
        area="join",
        source=Relation(table="t", where=WHERE),
        join=join,
        where=Call("not", (Call("is null", (A,)),)),
        select=("rid", "u_rid"),
        order=(Key(RID),),
        limit=5,
    )
    found = least(
        world(question, u=replace(right, layout=StoredLayout())),
        lambda one: one.questions[0].join is not None,
    )
    assert found.questions[0] == Question(
        area="join",
        source=Relation(table="t"),
        join=replace(join, right=Relation(table="u"), null_safe=False),
        select=("rid", "u_rid"),
    )


@settings(max_examples=25, report_multiple_bugs=False)
@given(worlds(ANYTHING, questions_max=1), st.randoms(use_true_random=False))
def test_every_smaller_world_might_have_been_drawn(drawn: World, random) -> None:
    """The layout is true of the rows, and every column that is named is there."""
    assert all(map(is_consistent, drawn.tables.values()))

    def fails(candidate: World) -> bool:
        names = {column.name for table in candidate.tables.values() for column in table.columns}
        (question,) = candidate.questions
        assert all(map(is_consistent, candidate.tables.values()))
        assert names.issuperset(question.select)
        assert question.change is None or question.source.where is not None
        return random.random() < 0.5

    least(drawn, fails)


# A dozen questions are long to spell, and nobody reads that.
@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisWarning")
def test_layouts_that_are_not_true_of_rows_are_told_from_those_that_are() -> None:
    """Each is drawn; with its rows turned round, or in other files, it is no longer true."""
    for wanted in ("missing", "partitioned", "nulls first"):

        def is_wanted(drawn: World, wanted: str = wanted) -> bool:
            layout = drawn.tables["t"].layout
            return wanted in (layout.evolution, layout.sorting, "partitioned" if layout.partitioned else "")

        def reversed_rows(drawn: World) -> StoredTable:
            table = drawn.tables["t"]
            layout = replace(table.layout, blocks_per_file=table.layout.blocks_per_file % 2 + 1)
            rows = tuple(block[::-1] for block in table.blocks[::-1])
            return replace(table, blocks=rows, layout=layout)

        found = find(
            worlds(ANYTHING, questions_max=1),
            lambda drawn: is_wanted(drawn) and not is_consistent(reversed_rows(drawn)),
            settings=REACHING,
        )
        assert is_consistent(found.tables["t"])
