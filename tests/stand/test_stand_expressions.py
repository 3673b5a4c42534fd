"""Expressions mean the same to the reference, to plain Python and to every engine that is asked them."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from needs import needs_package

from skipproof.stand.hunt.examining import QuestionResult, examine
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.reference.engine import SmallEngine
from skipproof.stand.reference.evaluating import compile_term
from skipproof.stand.reference.values import from_json
from skipproof.stand.workers.workers import EngineClient, Worker
from strategies.engines.capabilities import Capabilities, ConditionScope, Operand
from strategies.engines.engine_rows import ValuePool, value_pools
from strategies.engines.engine_tables import StoredTable
from strategies.engines.engine_values import TYPES, order
from strategies.engines.functions import PARAMETERISED, STRICT
from strategies.engines.questions import Call, Column, Json, Literal, Question, Relation, Term, subterms
from strategies.engines.terms import operand, shared_operand
from strategies.engines.worlds import World

RID = Column("rid", "int64")
DAY_US = 86_400_000_000


def call(function: str, type_: str, *constants: Json, of: str | None = None) -> Call:
    """A call of the column `a` of a type, and of constants."""
    others = "int32" if function in PARAMETERISED else type_
    return Call(function, (Column("a", type_), *(Literal(piece, others) for piece in constants)), of or type_)


# An expression, the values of its column, and its values by plain Python.
MEANT: dict[str, tuple[Term, list[Json], list[Json]]] = {
    "a sum": (call("+", "int32", 3), [-5, 0, None], [-2, 3, None]),
    "a difference": (call("-", "int16", 3), [-5, 0, None], [-8, -3, None]),
    "a product": (call("*", "int64", 2), [-5, 2**40, None], [-10, 2**41, None]),
    "a remainder": (call("%", "int32", 3), [5, 6, None], [2, 0, None]),
    "a quotient": (call("//", "int32", 2), [5, 4, 1, None], [2, 2, 0, None]),
    "a quotient of a small type": (call("//", "int8", 10), [127, 9, None], [12, 0, None]),
    "minus": (call("negate", "int8"), [-5, 127, None], [5, -127, None]),
    "a size": (call("abs", "int32"), [-5, 5, None], [5, 5, None]),
    "a shift left": (call("<<", "int32", 2), [5, 0, None], [20, 0, None]),
    "a shift right": (call(">>", "int32", 1), [5, -5, None], [2, -3, None]),
    "a sum of float32": (call("+", "float32", 1.0), [2.0**24, 0.5, None], [2.0**24, 1.5, None]),
    "a difference of float64": (call("-", "float64", 0.5), [1.0, "Infinity", None], [0.5, "Infinity", None]),
    "a product of float32": (call("*", "float32", 3.0), [0.5, -2.0, None], [1.5, -6.0, None]),
    "a quotient of float64": (call("/", "float64", 3.0), [1.0, "-Infinity"], [1.0 / 3.0, "-Infinity"]),
    "minus a float64": (call("negate", "float64"), [-5.0, 0.5, None], [5.0, -0.5, None]),
    "the size of a float32": (call("abs", "float32"), [-5.0, 0.5, None], [5.0, 0.5, None]),
    "small letters": (call("lower", "string"), ["aB", "É", "", None], ["ab", "é", "", None]),
    "capital letters": (call("upper", "string"), ["aB", "é", "", None], ["AB", "É", "", None]),
    "a length": (call("length", "string", of="int32"), ["ab", "\U0001f600", "", None], [2, 1, 0, None]),
    "a start": (call("substring", "string", 1, 2), ["abc", "\U0001f600bc", ""], ["ab", "\U0001f600b", ""]),
    "an inside": (call("substring", "string", 2, 1), ["abc", "a", None], ["b", "", None]),
    "no text": (call("substring", "string", 1, 0), ["abc", None], ["", None]),
    "two texts": (call("concat", "string", "x"), ["a", "", None], ["ax", "x", None]),
    "a year": (call("year", "date", of="int16"), [-719_162, -1, 0, 2_932_896], [1, 1969, 1970, 9999]),
    "a month": (call("month", "timestamp(us)", of="int8"), [-1, 0, None], [12, 1, None]),
    "a day": (call("day", "timestamp(ms)", of="int8"), [-1, 0, None], [31, 1, None]),
    "the start of a day": (call("truncate to day", "timestamp(us)"), [-1, DAY_US + 1], [-DAY_US, DAY_US]),
    "the start of a month": (call("truncate to month", "timestamp(us)"), [-1, DAY_US], [-31 * DAY_US, 0]),
    "the start of a year": (call("truncate to year", "timestamp(us)"), [-1, DAY_US], [-365 * DAY_US, 0]),
    "a date": (call("cast", "timestamp(us)", of="date"), [-1, DAY_US, None], [-1, 1, None]),
    "a narrow type": (call("try cast", "int32", of="int8"), [127, -128, None], [127, -128, None]),
    "a text": (call("cast", "int32", of="string"), [-5, 0, None], ["-5", "0", None]),
    "no such value": (call("nullif", "int32", 3), [3, 4, None], [None, 4, None]),
    "no such text": (call("nullif", "string", ""), ["", "a", None], [None, "a", None]),
}  # fmt: skip
LACKED = {
    "polars": {"a shift left", "a shift right"},
    "arrow": {"a remainder", "a narrow type"},
}


def query(term: Term, cells: list[Json], meant: list[Json]) -> World:
    """A world that asks for the rows in which a term has each of its values, or is NULL."""
    table = StoredTable(
        columns=(Column("a", _column(term).type), RID),
        blocks=tuple(((cell, row),) for row, cell in enumerate(cells)),
    )
    tests = [
        Call("is null", (term,)) if value is None else Call("=", (term, Literal(value, term.type)))
        for value in meant
    ]
    questions = [
        Question(area="filter", source=Relation(table="t", where=test), select=("rid",)) for test in tests
    ]
    return World(tables={"t": table}, settings={}, questions=tuple(questions))


def _column(term: Term) -> Column:
    return next(part for part in subterms(term) if isinstance(part, Column))


def wrong(worker: EngineClient, name: str) -> list[Any]:
    """Return the answers that are not the rows of plain Python, or that the reference contradicts."""
    term, cells, meant = MEANT[name]
    result = []
    for outcome, value in zip(examine(worker, query(term, cells, meant)), meant, strict=True):
        rows = [[row] for row, other in enumerate(meant) if other == value]
        right = {"rows": rows}
        answers = [
            {key: answer.get(key) for key in right} for answer in (outcome.with_statistics, outcome.without)
        ]
        if (
            outcome.refused
            or outcome.contradiction
            or any(sorted(piece["rows"]) != rows for piece in answers)
        ):
            result.append(
                (value, outcome.refused, outcome.contradiction, outcome.with_statistics, outcome.without)
            )
    return result


@pytest.mark.parametrize("name", MEANT)
def test_the_reference_means_what_plain_python_means(name: str) -> None:
    assert wrong(SmallEngine(), name) == []


@pytest.mark.parametrize("engine", ["duckdb", "datafusion", "polars", "arrow"])
def test_engines_mean_the_same(engine: str, engine_worker: Callable[[str], Worker]) -> None:
    needs_package({"arrow": "pyarrow"}.get(engine, engine))
    worker = engine_worker(engine)
    names = [name for name in MEANT if name not in LACKED.get(engine, ())]
    assert {name: errors for name in names if (errors := wrong(worker, name))} == {}


@pytest.mark.spark
def test_spark_means_the_same(engine_worker: Callable[[str], Worker]) -> None:
    worker = engine_worker("spark")
    assert {name: errors for name in MEANT if (errors := wrong(worker, name))} == {}


EVERYTHING = Capabilities()


@st.composite
def operands(draw: st.DrawFn) -> Any:
    """Operands over one or two columns, with the pools of the columns."""
    pool = draw(value_pools())
    scope = ConditionScope(EVERYTHING, {"a": pool, "b": draw(st.just(pool) | value_pools())})
    return scope.pools, operand(draw, scope, often=True)


TWICE = ValuePool("int32", (-1, 0, 1))
LEAST = ValuePool("int32", (-(2**31), 2**31 - 1))
ODD_PART = Call("%", (Column("a", "int32"), Literal(2, "int32")), "int32")
# What is drawn of a column alone although some of its values have no result in the type.
OVERFLOWING = ("+", "-", "*", "negate", "abs")


@settings(max_examples=300, deadline=None)
@example(
    (
        {"a": TWICE, "b": TWICE},
        Operand(Call("+", (ODD_PART, Column("a", "int32")), "int32"), ValuePool("int32", (-2, -1, 0, 1, 2))),
    )
)
@example(
    (
        {"a": LEAST, "b": LEAST},
        Operand(Call("negate", (Column("a", "int32"),), "int32"), LEAST),
    )
)
@given(operands())
def test_an_operand_has_the_values_of_its_pool(item: Any) -> None:
    """Constants beside it are chosen from there, and none of them is beyond what engines agree on."""
    pools, chosen = item
    schema = {name: (at, pool.type) for at, (name, pool) in enumerate(pools.items())}
    evaluate = compile_term(chosen.term.json(), schema)
    values = [evaluate(row) for row in _rows(pools)]
    calls = [part for part in subterms(chosen.term) if isinstance(part, Call)]
    pooled = {repr(from_json(value, chosen.pool.type)) for value in chosen.pool.values}
    exact = all(part.function in STRICT for part in calls)
    overflows = any(isinstance(part.of[0], Column) and part.function in OVERFLOWING for part in calls)
    names = [part.name for part in subterms(chosen.term) if isinstance(part, Column)]
    if exact and not overflows:
        # Two operands of one column have not all pairs of their values.
        assert {repr(value) for value in values} <= pooled
        assert len(set(names)) < len(names) or {repr(value) for value in values} == pooled
    assert chosen.term.type == chosen.pool.type


@settings(max_examples=300, deadline=None)
@given(operands())
def test_an_operand_is_computed_at_a_row(item: Any) -> None:
    pools, chosen = item
    schema = {name: (at, pool.type) for at, (name, pool) in enumerate(pools.items())}
    evaluate = compile_term(chosen.term.json(), schema)
    for first in (*pools["a"].values, None):
        for second in (*pools["b"].values, None):
            value = chosen.value_at({"a": first, "b": second})
            row = from_json(first, pools["a"].type), from_json(second, pools["b"].type)
            assert value is None or repr(from_json(value, chosen.pool.type)) == repr(evaluate(row))


def test_most_operands_are_computed() -> None:
    """The check before is of none without values."""
    computed = []

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(operands())
    def look(item: Any) -> None:
        pools, chosen = item
        row = {name: pool.values[0] for name, pool in pools.items()}
        computed.append(chosen.value_at(row) is not None)

    look()
    assert sum(computed) > len(computed) / 2


def test_a_world_shares_a_function_that_changes_the_order() -> None:
    """Whoever takes the bounds of the column for those of the function then misses a row."""
    changed = []

    @settings(max_examples=100, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def look(data: st.DataObject) -> None:
        pool = data.draw(value_pools(without=frozenset(TYPES) - {"int32", "string"}))
        scope = ConditionScope(EVERYTHING, {"a": pool})
        shared = data.draw(st.composite(lambda draw: shared_operand(draw, scope))())
        if shared is None:
            # No function that was tried is without an error over these values.
            changed.append(False)
            return
        values = sorted(set(pool.values), key=lambda value: order(value, pool.type))
        results = [shared.value_at({"a": value}) for value in values]
        keeps = None not in results and results == sorted(results, key=lambda x: order(x, shared.pool.type))
        changed.append(not keeps)

    look()
    # The first function that comes changes the order of a quarter.
    assert sum(changed) > len(changed) / 3


def _rows(pools: dict[str, ValuePool]) -> list[tuple[Any, ...]]:
    cells = [[from_json(value, pool.type) for value in pool.values] for pool in pools.values()]
    return [(first, second) for first in cells[0] for second in cells[1]]


def test_what_an_engine_lacks_is_in_no_expression() -> None:
    lacks = frozenset({"//", "cast", "+", "substring", "if"})

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        pools = {"a": data.draw(value_pools())}
        scope = ConditionScope(Capabilities(functions_missing=lacks), pools)
        terms = data.draw(st.composite(lambda draw: operand(draw, scope, often=True).term)())
        assert not lacks & {part.function for part in subterms(terms) if isinstance(part, Call)}
        plain = Capabilities(functions_missing=frozenset({"expression"}))
        column = data.draw(st.composite(lambda draw: operand(draw, ConditionScope(plain, pools)).term)())
        assert isinstance(column, Column)

    check()


def test_a_long_list_shrinks_by_halves() -> None:
    members = tuple(Literal(value, "int32") for value in range(2_000))
    where = Call("in", (call("//", "int32", 2), *members))
    table = StoredTable(columns=(Column("a", "int32"), RID), blocks=(((1_500, 0),),))
    question = Question(area="filter", source=Relation(table="t", where=where), select=("rid",))
    world = World(tables={"t": table}, settings={}, questions=(question,))

    def fails(candidate: World) -> QuestionResult | None:
        terms = [part for term in candidate.questions[0].terms for part in subterms(term)]
        return QuestionResult(question=candidate.questions[0]) if Literal(1_234, "int32") in terms else None

    shrunk = [smaller for smaller, _ in smaller_worlds(world, fails, tries_max=120)]
    world = shrunk[-1]
    assert world.questions[0].source.where == Call("in", (Column("a", "int32"), Literal(1_234, "int32")))
