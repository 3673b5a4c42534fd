"""A question reaches a class of bugs if taking it away from a column that it reads changes a decision."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skipproof.stand.hunt.reach.data_classes import DATA_CLASSES
from skipproof.stand.hunt.reach.query_classes import QUERY_CLASSES
from skipproof.stand.hunt.reach.reaching import (
    FREQUENT,
    IMPOSSIBLE,
    Reach,
    Tally,
    WorldReach,
    normalized_question,
    scenes,
    tally_hunt,
)
from skipproof.stand.hunt.reach.scenes import Decisions, RecordingRules, Scene
from skipproof.stand.hunt.reach.terms import REMOVED, columns_read, with_terms
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.tables import Group
from skipproof.stand.reference.values import Row
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Join,
    Json,
    Key,
    Literal,
    Question,
    Relation,
    Subquery,
    Term,
)
from strategies.engines.worlds import World


def table(type_: str, *blocks: list[Json], prefix: str = "", **layout: Json) -> StoredTable:
    """A table of the column `a` and row numbers, without dictionaries, which would hide other statistics."""
    columns = (Column(f"{prefix}a", type_), Column(f"{prefix}rid", "int64"))
    numbers = iter(range(100))
    rows = tuple(tuple((cell, next(numbers)) for cell in block) for block in blocks)
    return StoredTable(columns=columns, blocks=rows, layout=StoredLayout(**{"dictionary": False, **layout}))


def call(function: str, *of: Json, type_: str = "int32") -> Call:
    """A call; names are columns, `None` and all other values are literals."""
    terms = (Column("a", type_) if part == "a" else part for part in of)
    parts = tuple(part if isinstance(part, Column | Call) else Literal(part, type_) for part in terms)
    return Call(function, parts)


def select(where: Term | None = None, **others: Json) -> Question:
    """A question about the rows of `t`."""
    return Question(
        **{"area": "filter", "source": Relation(table="t", where=where), "select": ("rid",), **others}
    )


@pytest.fixture
def open_scene(tmp_path: Path):
    """A function that writes the tables of a question, and returns its scene."""

    def opened(question: Question, *tables: StoredTable, **settings: str) -> Scene:
        names = dict(zip(("t", "u"), tables, strict=False))
        world = World(tables=names, settings=settings, questions=(question,))
        (scene,) = scenes(world, tmp_path)
        return scene

    return opened


QUESTIONS = 600
LONG = "a" * 17
# For each class of data, a table and a condition that reaches it.
OF_DATA: dict[str, tuple[StoredTable, Call]] = {
    "NAN": (table("float64", [1.0, "NaN"]), call(">", "a", 2.0, type_="float64")),
    "NOSTATS": (table("int32", [1], [5], statistics=("rid",)), call("=", "a", 5)),
    "BADSTATS": (table("decimal(9,2)", ["-1.00"], ["3.00"]), call(">", "a", "2.00", type_="decimal(9,2)")),
    "PART": (table("int32", [1], [5], blocks_per_file=1, partitioned=True), call("=", "a", 5)),
    "NULLS": (table("int32", [1, None, 5]), call("=", "a", 1)),
    "PAGE": (table("int32", [1, 1, 1, 5, 5, 5], page_index=True, rows_per_page=1), call("=", "a", 5)),
    "STR": (table("string", ["é"], ["b"]), call(">", "a", "z", type_="string")),
    "TS": (table("timestamp(us)", [-1], [1_000]), call("<", "a", 0, type_="timestamp(us)")),
    "SCHEMA": (
        table("int64", [1], [5], blocks_per_file=1, evolution="narrowed"),
        call("=", "a", 1, type_="int64"),
    ),
    "BLOOM": (table("int32", [1, 5], filters=("a",)), call("=", "a", 3)),
    "TRUNC": (table("string", [LONG]), call("=", "a", LONG, type_="string")),
    "DICT": (table("int32", [1, 5], dictionary=True), call("=", "a", 3)),
    "DECIMAL": (table("decimal(9,2)", ["-1.00"], ["3.00"]), call("<", "a", "0.00", type_="decimal(9,2)")),
    "NESTED": (table("int32", [1], [5], ballast=True), call("=", "a", 5)),
    "ALLNULL": (table("int32", [None], [1]), call("is null", "a")),
    "EMPTY": (table("int32", [1], []), call("=", "a", 1)),
    "OVERFLOW": (table("int32", [2**31 - 1], [1]), call(">", "a", 5)),
    "NEGZERO": (table("float64", [-0.0], [1.0]), call("=", "a", 0.0, type_="float64")),
    "UINT": (table("uint32", [2**32 - 1], [1]), call(">", "a", 5, type_="uint32")),
}
JOINED = Join(kind="inner", right=Relation(table="u"), left_key="a", right_key="u_a")
NUMBERS = (table("int32", [1, None, 3], [5, 7]), table("int32", [5], prefix="u_"))
# For each class of questions, a question about the numbers that reaches it.
OF_QUESTIONS: dict[str, Question] = {
    "NULLSAFE": select(call("is null", "a")),
    "NEG": select(call("not", call("=", "a", 1))),
    "JOIN": select(area="join", join=JOINED),
    "LIMIT": select(call(">", "a", 0), area="limit", limit=1),
    "TOPK": select(area="topk", order=(Key(Column("a", "int32"), descending=True),), limit=1),
    "EXPR": select(call("=", Call("+", (Column("a", "int32"), Literal(2, "int32")), "int32"), 7)),
    "OR": select(call("or", call("=", "a", 1), call("=", "a", 5))),
    "IN": select(call("in", "a", 1, 5)),
    "AGG": select(area="aggregate", select=(), aggregates=(Aggregate("min", Column("a", "int32")),)),
    "RANGE": select(call(">", "a", 3)),
}


def reach(scene: Scene) -> Reach:
    return WorldReach().reach_of(scene)


def test_a_field_of_a_struct_is_nested(open_scene) -> None:
    """The row group of 1 is skipped by the statistics of its field."""
    scene = open_scene(select(call("=", "a", 5)), table("int32", [1], [5], nested=("a",)))
    assert reach(scene).data["NESTED"] == {"a"}
    assert "NESTED" not in reach(DATA_CLASSES["NESTED"].without(scene, "a")).data


def test_every_class_has_an_example() -> None:
    assert OF_DATA.keys() == DATA_CLASSES.keys()
    assert {*OF_QUESTIONS, "LIKE"} == QUERY_CLASSES.keys()


@pytest.mark.parametrize("name", OF_DATA)
def test_a_class_of_data_is_reached_and_not_without_it(name: str, open_scene) -> None:
    stored, where = OF_DATA[name]
    scene = open_scene(select(where), stored)
    assert DATA_CLASSES[name].is_present(scene, "a")
    assert reach(scene).data[name] == {"a"}
    without = DATA_CLASSES[name].without(scene, "a")
    assert name not in reach(without).data


@pytest.mark.parametrize("name", OF_QUESTIONS)
def test_a_class_of_questions_is_reached_and_not_without_it(name: str, open_scene) -> None:
    tables = NUMBERS if name == "JOIN" else NUMBERS[:1]
    _check_question(name, open_scene(OF_QUESTIONS[name], *tables))


def test_patterns_are_reached_and_not_without_them(open_scene) -> None:
    question = select(call("like", "a", "a%", type_="string"))
    _check_question("LIKE", open_scene(question, table("string", ["ab"], ["b"])))


def test_a_pattern_concerns_only_the_columns_of_its_text(open_scene) -> None:
    """A column that CASE tests, or that is only counted, is no part of a text; the month of a time may be."""
    times = StoredTable(
        columns=(Column("a", "timestamp(us)"), Column("b", "string"), Column("rid", "int64")),
        blocks=(((-1, "ab", 0), (40 * 86_400_000_000, "b", 1)),),
    )
    text = Column("b", "string")
    case = Call("if", (call("<", "a", 0, type_="timestamp(us)"), text, Literal("", "string")), "string")
    month = Call("cast", (Call("month", (Column("a", "timestamp(us)"),), "int32"),), "string")
    scene = open_scene(select(Call("like", (month, Literal("1%", "string")))), times)
    assert QUERY_CLASSES["LIKE"].columns(scene) == {"a"}
    assert ("TS", "LIKE") in reach(scene).pairs
    with_case = select(Call("like", (case, Literal("1%", "string"))))
    assert QUERY_CLASSES["LIKE"].columns(replace(scene, question=with_case.json())) == {"b"}
    counted = Call("cast", (Column("aggregate 0", "int64"),), "string")
    having = Call("like", (counted, Literal("1", "string")))
    question = select(
        area="aggregate", select=(), aggregates=(Aggregate("count", Column("a", "int32")),), having=having
    )
    assert QUERY_CLASSES["LIKE"].columns(replace(scene, question=question.json())) == set()


def _check_question(name: str, scene: Scene) -> None:
    assert "a" in reach(scene).queries[name]
    without = replace(scene, question=QUERY_CLASSES[name].without(scene))
    assert not QUERY_CLASSES[name].columns(without)
    assert name not in reach(without).queries


# Wrong variants: a method, what replaces it, and the class that is then not reached in its example.
MUTANTS: dict[str, tuple[type, str, Callable[..., Any], str]] = {
    "rows are not recorded": (RecordingRules, "read", Rules.read, "DICT"),
    "pages are not recorded": (
        RecordingRules,
        "rows_selected",
        lambda rules, group, where, lookup: _keep(rules, group),
        "PAGE",
    ),
    "answers are not compared": (Decisions, "_answer", lambda decisions, names: [], "NULLS"),
}


def _keep(rules: RecordingRules, group: Group) -> Sequence[Row]:
    """Record all rows of a row group as evaluated."""
    rules._selected = group.rows
    return group.rows


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_records_are_seen(name: str, open_scene, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, wrong, class_name = MUTANTS[name]
    stored, where = OF_DATA[class_name]
    scene = open_scene(select(where), stored)
    assert class_name in reach(scene).data
    monkeypatch.setattr(owner, method, wrong)
    assert class_name not in reach(scene).data


def test_a_property_of_a_column_that_nothing_reads_is_not_reached(open_scene) -> None:
    """NaN in a column that is only selected changes no decision."""
    scene = open_scene(select(select=("a", "rid")), OF_DATA["NAN"][0])
    assert reach(scene) == Reach(data={}, queries={})


def test_a_property_that_decides_nothing_is_not_reached(open_scene) -> None:
    """The NaN is above the bound, and a plain value is, too."""
    scene = open_scene(select(call(">", "a", 0.0, type_="float64")), OF_DATA["NAN"][0])
    assert DATA_CLASSES["NAN"].is_present(scene, "a")
    assert "NAN" not in reach(scene).data


def test_a_pair_is_reached_on_one_column_only(open_scene) -> None:
    """NOT over `a` and NULL in `b` are no pair."""
    stored = StoredTable(
        columns=(Column("a", "int32"), Column("b", "int32"), Column("rid", "int64")),
        blocks=(((2, None, 0), (2, 3, 1)),),
        layout=StoredLayout(dictionary=False),
    )
    other = Call("=", (Column("b", "int32"), Literal(3, "int32")))
    scene = open_scene(select(Call("and", (call("not", call("=", "a", 7)), other))), stored)
    classes = reach(scene)
    assert classes.queries["NEG"] == {"a"}
    assert classes.data["NULLS"] == {"b"}
    assert ("NULLS", "NEG") not in set(classes.pairs)


def test_a_pair_is_reached_on_its_column(open_scene) -> None:
    scene = open_scene(select(call("not", call("=", "a", 1))), table("int32", [1, None], [2, None]))
    assert {("NULLS", "NEG")} <= set(reach(scene).pairs)


def test_a_partition_by_a_setting_is_reached_where_it_prunes(open_scene) -> None:
    """Splitting a row group changes nothing by itself."""
    stored = table("int32", [1, 5])
    pruning = open_scene(select(call("=", "a", 5)), stored, partitions="identity")
    assert reach(pruning).data["PART"] == {"a"}
    (without,) = {len(part.groups) for part in DATA_CLASSES["PART"].without(pruning, "a").tables.values()}
    assert without == 1


def test_a_partition_by_a_setting_that_prunes_nothing_is_not_reached(open_scene) -> None:
    scene = open_scene(select(call("is not null", "a")), table("int32", [1, 5, 1]), partitions="bucket")
    assert DATA_CLASSES["PART"].is_present(scene, "a")
    assert "PART" not in reach(scene).data


def test_an_empty_side_of_a_join_is_reached_and_filled(open_scene) -> None:
    scene = open_scene(select(area="join", join=JOINED), NUMBERS[0], table("int32", [], prefix="u_"))
    assert reach(scene).data["EMPTY"] >= {"a", "u_a"}
    assert [len(part.rows) for part in DATA_CLASSES["EMPTY"].without(scene, "a").tables.values()] == [5, 1]


def test_a_column_that_a_file_lacks_is_reached(open_scene) -> None:
    stored = StoredTable(
        columns=(Column("b", "int32"), Column("a", "int32"), Column("rid", "int64")),
        blocks=(((0, 1, 0),), ((0, None, 1),)),
        layout=StoredLayout(blocks_per_file=1, evolution="missing"),
    )
    scene = open_scene(select(call("is null", "a")), stored)
    assert reach(scene).data["SCHEMA"] == {"a"}


def test_files_have_filters_and_pages_only_where_their_layout_has_them(open_scene) -> None:
    question = select(call("=", "a", 3))
    plain = open_scene(question, table("int32", [1, 5]))
    (group,) = plain.tables["t"].groups
    assert not any(chunk.stated.bloom or chunk.stated.pages for chunk in group.chunks)


def test_what_is_taken_away_leaves_the_rest_of_its_condition() -> None:
    """NOT and IS TRUE need what they are of; AND and OR keep their other operands."""

    def without_null_tests(term: Json) -> Json:
        return REMOVED if term["call"] == "is null" else term

    def rest(where: Call) -> Json:
        return with_terms(select(where).json(), without_null_tests)["source"]["where"]

    null, other = call("is null", "a"), call("=", "a", 1)
    assert rest(call("not", null)) is None
    assert rest(call("or", null, null)) is None
    assert rest(call("not", call("or", null, other))) == call("not", other).json()


def test_outputs_of_aggregates_read_their_columns() -> None:
    question = select(
        area="aggregate",
        select=(),
        aggregates=(Aggregate("max", Column("a", "int32")),),
        having=Call("is null", (Column("aggregate 0", "int32"),)),
    )
    assert columns_read(question.json()) == {"a"}


def test_expressions_of_other_types_stay_in_aggregates(open_scene) -> None:
    """A condition on their output is of their type."""
    text = Call("cast", (Column("a", "int32"),), "string")
    negative = Call("negate", (Column("a", "int32"),), "int32")
    question = select(
        area="aggregate",
        select=(),
        aggregates=(Aggregate("max", text), Aggregate("max", negative)),
        having=Call("like", (Column("aggregate 0", "string"), Literal("7%", "string"))),
    )
    scene = open_scene(question, NUMBERS[0])
    without = QUERY_CLASSES["EXPR"].without(scene)
    assert [part["of"] for part in without["aggregates"]] == [text.json(), {"column": "a"}]
    assert reach(scene).queries["EXPR"] == {"a"}


def test_a_subquery_is_a_join_of_its_column(open_scene) -> None:
    inner = Subquery(
        kind="in", relation=Relation(table="u"), column=Column("u_a", "int32"), operand=Column("a", "int32")
    )
    scene = open_scene(select(Call("not", (inner,)), area="subquery"), *NUMBERS)
    assert reach(scene).queries["JOIN"] == {"a", "u_a"}
    assert {"NEG", "NULLSAFE"} <= reach(scene).queries.keys()


def test_questions_that_differ_in_numbers_alone_are_one_plan() -> None:
    first = select(call("in", "a", 1, 2), limit=1).json()
    second = select(call("in", "a", 7, 8, 9), limit=3, repeat=2).json()
    others = [
        select(call("in", "a", 1, None), limit=1),
        select(call("in", "a", 1, 2)),
        select(call("=", "a", 1)),
    ]
    assert normalized_question(first) == normalized_question(second)
    assert normalized_question(first) not in [normalized_question(other.json()) for other in others]


def test_pairs_with_a_bar_are_of_classes_and_possible() -> None:
    assert {data for data, _ in (*FREQUENT, *IMPOSSIBLE)} <= DATA_CLASSES.keys()
    assert {query for _, query in (*FREQUENT, *IMPOSSIBLE)} <= QUERY_CLASSES.keys()
    assert not set(FREQUENT) & set(IMPOSSIBLE)


@pytest.fixture(scope="module")
def tally() -> Tally:
    return tally_hunt(2, QUESTIONS)


@pytest.mark.slow
def test_hunts_reach_each_class_of_bugs(tally: Tally) -> None:
    """`bench/stand/reach.py` counts the pairs, which are rarer."""
    assert {name for name in (*DATA_CLASSES, *QUERY_CLASSES) if not tally.classes[name]} == set()


@pytest.mark.slow
def test_hunts_never_reach_a_pair_that_cannot_be(tally: Tally) -> None:
    assert set(tally.pairs) & set(IMPOSSIBLE) == set()


@pytest.mark.slow
def test_hunts_ask_different_questions_that_have_answers(tally: Tally) -> None:
    assert tally.questions == QUESTIONS
    assert tally.non_empty > 0.5 * QUESTIONS
    assert len(tally.plans) > 0.6 * QUESTIONS
    assert tally.worlds * 20 >= QUESTIONS
