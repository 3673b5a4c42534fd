"""Reach: every node, operator and mode is drawn, and every truth value occurs."""

import itertools
from collections.abc import Callable
from decimal import Decimal

import pytest
from budget import unshrunk
from hypothesis import Phase, given, settings
from hypothesis.strategies import SearchStrategy, one_of
from searches import find

from oracles.meaning.brute_force import evaluate
from pruning.expressions.function_groups import ARRAY_FUNCTIONS, TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.traversal import children, columns, walk
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Operator,
    Or,
    StartsWith,
    type_of,
)
from pruning.expressions.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Kind,
    Type,
    Value,
    decimal,
)
from strategies.base.tables import Table
from strategies.predicates.carrying import values_on_rows
from strategies.predicates.predicates import predicates

ROW: dict[str, Value | None] = {
    "i": 7,
    "y": 1,
    "f": 1.5,
    "d": Decimal("2.50"),
    "s": b"a_b",
    "u": b"a_c",
    "r": b"\xff",
    "p": True,
    "t": 1,
    "g": 2**40,
    "n": 2.5,
}
# Reaching is the claim; shrinking what was reached would take most of the time.
REACH = unshrunk(20_000)
NUMBERS = (Column("i", INTEGER), Column("y", BYTE), Column("f", FLOAT), Column("d", decimal(9, 2)))
TEXTS = (Column("s", STRING), Column("u", STRING), Column("r", BINARY))
COMPUTED = (Column("i", INTEGER), Column("y", BYTE), Column("g", LONG), Column("n", DOUBLE))
EXACT = (Column("d", decimal(9, 2)), Column("i", INTEGER))
OTHERS = (Column("p", BOOLEAN), Column("t", DATE), Column("i", INTEGER))
TABLE = Table(NUMBERS, (((7, 1, 1.5, Decimal("2.50")), (None, None, None, None)),))


def _predicates_of(columns: tuple[Column, ...], *modes: Mode) -> SearchStrategy[Expression]:
    """Predicates over a row and a row of NULLs."""
    rows = tuple(ROW[column.name] for column in columns), (None,) * len(columns)
    return predicates(Table(columns, (rows,)), max_leaves=6, modes=modes or (Mode.TRY,), try_remainders=True)


SESSIONS = ((Mode.ANSI, Mode.TRY), (Mode.LEGACY,), (Mode.TRY,))
OF_ALL_TYPES = one_of(*map(_predicates_of, (NUMBERS, TEXTS, OTHERS)))
# Predicates on numbers in sessions of each kind.
OF_NUMBERS = [_predicates_of(columns, *modes) for columns in (COMPUTED, EXACT) for modes in SESSIONS]
# Many of these take functions of doubles.
OF_DOUBLES = _predicates_of((Column("n", DOUBLE),))


def _reaches(strategy: SearchStrategy[Expression], has_it: Callable[[Expression], bool]) -> bool:
    """Tell whether the strategy draws a predicate with such a node."""
    reached = find(strategy, lambda predicate: any(map(has_it, walk(predicate))), settings=REACH)
    return any(map(has_it, walk(reached)))


@pytest.fixture(scope="module")
def numeric_sample(deep: bool) -> list[Expression]:
    """Predicates on numbers, the same every time."""
    return [
        predicate for strategy in OF_NUMBERS for predicate in _sample(strategy, size=800 if deep else 200)
    ]


def _sample(strategy: SearchStrategy[Expression], *, size: int) -> list[Expression]:
    drawn: list[Expression] = []

    @settings(max_examples=size, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(strategy)
    def collect(predicate: Expression) -> None:
        drawn.append(predicate)

    collect()
    return drawn


def _has_cast(source: Type, target: Type) -> Callable[[Expression], bool]:
    return lambda node: isinstance(node, Cast) and type_of(node.operand) == source and node.type == target


def _escapes(escape: str) -> Callable[[Expression], bool]:
    wanted = f"{escape}_".encode()
    return lambda node: isinstance(node, Like) and node.escape == escape and wanted in node.pattern


def _is_null_comparison(node: Expression) -> bool:
    return isinstance(node, Compare) and _is_null(node.right)


FEATURES: list[tuple[str, Callable[[Expression], bool]]] = [
    ("a boolean column as predicate", lambda node: isinstance(node, And) and _column(node.operands[0])),
    ("a column against a literal", lambda node: _shape(node) == (Column, Literal)),
    ("a literal against a column", lambda node: _shape(node) == (Literal, Column)),
    ("a column against a column", lambda node: _shape(node) == (Column, Column)),
    ("a comparison with NULL", _is_null_comparison),
    ("IS NULL of a column", lambda node: isinstance(node, IsNull) and _column(node.operand)),
    ("IS NULL of a predicate", lambda node: isinstance(node, IsNull) and isinstance(node.operand, Compare)),
    ("IS TRUE", lambda node: _is_truth_test(node, True)),
    ("IS FALSE", lambda node: _is_truth_test(node, False)),
    ("<=> NULL of a predicate", lambda node: _is_truth_test(node, None)),
    ("NOT of an OR", lambda node: isinstance(node, Not) and isinstance(node.operand, Or)),
    ("NOT of an IN", lambda node: isinstance(node, Not) and isinstance(node.operand, In)),
    ("IN with NULL", lambda node: isinstance(node, In) and any(_is_null(part) for part in node.members)),
    ("IN of one member", lambda node: isinstance(node, In) and len(node.members) == 1),
    ("IN of more than twenty", lambda node: isinstance(node, In) and len(node.members) > 20),
    ("IN with a column", lambda node: isinstance(node, In) and any(map(_column, node.members))),
    ("BETWEEN", lambda node: isinstance(node, And) and _is_between(node)),
    ("LIKE with a prefix", lambda node: isinstance(node, Like) and node.pattern == b"a%"),
    ("LIKE with an escape", _escapes("\\")),
    ("LIKE with another escape", _escapes("!")),
    ("LIKE with _", lambda node: isinstance(node, Like) and node.pattern.endswith(b"_")),
    ("a prefix of a string", lambda node: isinstance(node, StartsWith) and node.prefix == b"a"),
    ("a prefix of a binary", lambda node: isinstance(node, StartsWith) and type_of(node.operand) == BINARY),
    ("CASE without ELSE", lambda node: isinstance(node, Case) and _is_null(node.otherwise)),
    ("CASE of two branches", lambda node: isinstance(node, Case) and len(node.branches) == 2),
    ("CASE of CASE", lambda node: isinstance(node, Case) and Case in map(type, children(node))),
    ("CASE of numbers", lambda node: isinstance(node, Case) and type_of(node) == INTEGER),
    ("COALESCE of numbers", lambda node: isinstance(node, Coalesce) and type_of(node) == INTEGER),
    ("COALESCE of predicates", lambda node: isinstance(node, Coalesce) and type_of(node) == BOOLEAN),
    ("a difference", lambda node: isinstance(node, Arithmetic) and node.operator is Operator.SUBTRACT),
    ("a sum of floats", lambda node: isinstance(node, Arithmetic) and node.type == FLOAT),
    ("a sum of decimals", lambda node: isinstance(node, Arithmetic) and node.type.kind is Kind.DECIMAL),
    ("an ANSI sum", lambda node: isinstance(node, Arithmetic) and node.mode is Mode.ANSI),
    ("int to bigint", _has_cast(INTEGER, LONG)),
    ("int to double", _has_cast(INTEGER, DOUBLE)),
    ("int to decimal", _has_cast(INTEGER, decimal(10, 0))),
    ("float to double", _has_cast(FLOAT, DOUBLE)),
    ("date to timestamp", _has_cast(DATE, TIMESTAMP)),
    ("date to timestamp_ntz", _has_cast(DATE, TIMESTAMP_NTZ)),
    ("int to tinyint", _has_cast(INTEGER, BYTE)),
]  # fmt: skip


def _column(node: Expression) -> bool:
    return isinstance(node, Column)


def _is_null(node: Expression) -> bool:
    return isinstance(node, Literal) and node.value is None


def _shape(node: Expression) -> tuple[type, ...]:
    """The classes of a comparison's sides; nothing for any other node."""
    return tuple(map(type, children(node))) if isinstance(node, Compare) else ()


def _is_truth_test(node: Expression, truth: bool | None) -> bool:
    return (
        isinstance(node, Compare)
        and node.operator is Comparison.NULL_SAFE_EQUAL
        and node.right == Literal(truth, BOOLEAN)
        and isinstance(node.left, Compare | In | IsNull | And | Or | Not)
    )


def _is_between(node: And) -> bool:
    lower, *rest = node.operands
    return (
        isinstance(lower, Compare)
        and lower.operator is Comparison.AT_LEAST
        and any(isinstance(upper, Compare) and upper.left == lower.left for upper in rest)
    )


@pytest.mark.parametrize(("feature", "has_it"), FEATURES, ids=[feature for feature, _ in FEATURES])
def test_predicates_reach(feature: str, has_it: Callable[[Expression], bool]) -> None:
    assert _reaches(OF_ALL_TYPES, has_it)


@pytest.mark.parametrize("operator", Comparison)
def test_predicates_reach_each_comparison(operator: Comparison) -> None:
    def is_one(predicate: Expression) -> bool:
        return isinstance(predicate, Compare) and predicate.operator is operator

    assert is_one(find(OF_ALL_TYPES, is_one, settings=REACH))


FUNCTIONS_OF_NUMBERS = frozenset(Function) - ARRAY_FUNCTIONS - TEXT_FUNCTIONS - TIME_FUNCTIONS
# Spark has no try_div.
OPERATIONS = [
    (operator, mode)
    for operator in Operator
    for mode in Mode
    if (operator, mode) != (Operator.INTEGRAL_DIVIDE, Mode.TRY)
]


@pytest.mark.parametrize(("operator", "mode"), OPERATIONS)
def test_predicates_reach_each_operator_in_each_mode_it_has(operator: Operator, mode: Mode) -> None:
    def has_it(node: Expression) -> bool:
        return isinstance(node, Arithmetic) and node.operator is operator and node.mode is mode

    assert _reaches(one_of(OF_NUMBERS), has_it)


@pytest.mark.parametrize("function", sorted(FUNCTIONS_OF_NUMBERS, key=lambda function: function.name))
def test_predicates_reach_each_function(function: Function) -> None:
    strategy = one_of(*OF_NUMBERS, OF_DOUBLES)
    assert _reaches(strategy, lambda node: isinstance(node, Call) and node.function is function)


FAMILIES: dict[str, Callable[[Type], bool]] = {
    "integers": lambda type_: type_.integral,
    "floats": lambda type_: type_.floating,
    "decimals": lambda type_: type_.kind is Kind.DECIMAL,
    "booleans": lambda type_: type_ == BOOLEAN,
}


# A boolean is no other boolean.
CASTS = [pair for pair in itertools.product(FAMILIES, repeat=2) if pair != ("booleans", "booleans")]


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_predicates_reach_casts_between_families(source: str, target: str) -> None:
    is_source, is_target = FAMILIES[source], FAMILIES[target]

    def has_it(node: Expression) -> bool:
        return isinstance(node, Cast) and is_source(type_of(node.operand)) and is_target(node.type)

    assert _reaches(one_of(OF_ALL_TYPES, *OF_NUMBERS), has_it)


NUMERIC_FEATURES: list[tuple[str, Callable[[Expression], bool]]] = [
    ("a zero divisor", lambda node: isinstance(node, Arithmetic) and _divides_by_zero(node)),
    ("NULLIF", lambda node: isinstance(node, Case) and _is_null_if(node)),
    ("a product of decimals", lambda node: _decimal_of(node, Operator.MULTIPLY)),
    ("a quotient of decimals", lambda node: _decimal_of(node, Operator.DIVIDE)),
    ("a remainder of decimals", lambda node: _decimal_of(node, Operator.REMAINDER)),
    ("div of decimals", lambda node: _is_div_of_decimals(node)),
    ("ROUND to tens", lambda node: isinstance(node, Call) and _rounds_to_tens(node)),
    ("FLOOR of a decimal", lambda node: _call_of(node, Function.FLOOR, Kind.DECIMAL)),
    ("FLOOR to a bigint", lambda node: _call_of(node, Function.FLOOR, Kind.LONG)),
    ("ROUND of a double", lambda node: _call_of(node, Function.ROUND, Kind.DOUBLE)),
    ("GREATEST of three", lambda node: isinstance(node, Call) and len(node.operands) == 3),
    ("a cast of a sum", lambda node: isinstance(node, Cast) and isinstance(node.operand, Arithmetic)),
    ("IF over arithmetic", lambda node: isinstance(node, Case) and _computes(node)),
    ("decimal to a wider one", _has_cast(decimal(9, 2), decimal(18, 6))),
]  # fmt: skip


@pytest.mark.parametrize(("feature", "has_it"), NUMERIC_FEATURES, ids=[name for name, _ in NUMERIC_FEATURES])
def test_predicates_on_numbers_reach(feature: str, has_it: Callable[[Expression], bool]) -> None:
    assert _reaches(one_of(OF_NUMBERS), has_it)


def _divides_by_zero(node: Arithmetic) -> bool:
    divides = node.operator in (Operator.DIVIDE, Operator.INTEGRAL_DIVIDE, Operator.REMAINDER)
    return divides and isinstance(node.right, Literal) and node.right.value == 0


def _is_null_if(node: Case) -> bool:
    ((condition, value), *_) = node.branches
    return isinstance(condition, Compare) and condition.left == node.otherwise and _is_null(value)


def _decimal_of(node: Expression, operator: Operator) -> bool:
    return isinstance(node, Arithmetic) and node.operator is operator and node.type.kind is Kind.DECIMAL


def _is_div_of_decimals(node: Expression) -> bool:
    decimals = isinstance(node, Arithmetic) and type_of(node.left).kind is Kind.DECIMAL
    return decimals and isinstance(node, Arithmetic) and node.operator is Operator.INTEGRAL_DIVIDE


def _rounds_to_tens(node: Call) -> bool:
    return node.function is Function.ROUND and node.operands[1] == Literal(-1, INTEGER)


def _call_of(node: Expression, function: Function, kind: Kind) -> bool:
    return isinstance(node, Call) and node.function is function and node.type.kind is kind


def _computes(node: Case) -> bool:
    return len(columns(node)) > 1 and any(isinstance(part, Arithmetic | Call) for part in walk(node))


def test_many_predicates_compute_over_several_columns(numeric_sample: list[Expression]) -> None:
    """With arithmetic, a function or IF: where pruning row by row is hardest."""
    found = [
        predicate
        for predicate in numeric_sample
        if len(columns(predicate)) > 1
        and any(isinstance(node, Arithmetic | Call | Case) for node in walk(predicate))
    ]
    assert len(found) > len(numeric_sample) / 5


def test_literals_hit_what_they_are_compared_with(numeric_sample: list[Expression]) -> None:
    """Else bounds that computed values touch would never be tried."""
    found = [
        (node.left, node.right.value)
        for predicate in numeric_sample
        for node in walk(predicate)
        if isinstance(node, Compare)
        and isinstance(node.left, Arithmetic | Call)
        and isinstance(node.right, Literal)
        and node.right.value is not None
    ]
    hits = [value for computed, value in found if value in values_on_rows(computed, [ROW])]
    assert len(hits) > len(found) / 5


@pytest.mark.parametrize("mode", Mode)
def test_predicates_reach_each_mode_of_sums_where_asked(mode: Mode) -> None:
    def has_it(predicate: Expression) -> bool:
        return any(isinstance(node, Arithmetic) and node.mode is mode for node in walk(predicate))

    assert has_it(find(predicates(TABLE, modes=tuple(Mode)), has_it, settings=REACH))


@pytest.mark.parametrize("truth", [True, False, None])
@pytest.mark.parametrize("class_", [Compare, In, And, Or, Not, Case, Coalesce, Like, StartsWith])
def test_predicates_reach_each_truth_value_of(class_: type, truth: bool | None) -> None:
    rows = [ROW, dict.fromkeys(ROW)]

    def has_it(predicate: Expression) -> bool:
        return isinstance(predicate, class_) and any(evaluate(predicate, row) is truth for row in rows)

    assert has_it(find(OF_ALL_TYPES, has_it, settings=REACH))


def test_predicates_reach_one_that_has_all_three_truth_values_in_a_block() -> None:
    table = Table((Column("i", INTEGER),), (((1,), (2,), (None,)),))

    def all_three(predicate: Expression) -> bool:
        return len({evaluate(predicate, table.as_mapping(row)) for row in table.rows}) == 3

    assert all_three(find(predicates(table), all_three, settings=REACH))
