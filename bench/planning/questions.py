"""Predicates in every language that can say them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyiceberg.expressions as iceberg
from known_blocks import UNIT, VALUES, A, Arrays, B, S

from pruning.expressions.trees import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    Like,
    Literal,
    Operator,
    Or,
)
from pruning.expressions.types import LONG, STRING

FEET = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One predicate in every language that can say it.

    `numpy_skips` and `sql` tell the blocks that may match, `numpy_verdicts` and `sql_verdicts` all
    three verdicts; `iceberg` is PyIceberg's form of the predicate.
    """

    name: str
    predicate: Expression
    numpy_skips: Callable[[Arrays], np.ndarray]
    numpy_verdicts: Callable[[Arrays], np.ndarray] | None = None
    sql: str
    sql_verdicts: str | None = None
    iceberg: Any = None


@dataclass(frozen=True, slots=True)
class Side:
    """`column >= value` or `column <= value`, in every language."""

    column: Column
    least: bool
    value: int

    @property
    def expression(self) -> Expression:
        comparison = Comparison.AT_LEAST if self.least else Comparison.AT_MOST
        return Compare(comparison, self.column, Literal(self.value, LONG))

    @property
    def sql(self) -> str:
        name = self.column.name
        return f"{name}_max >= {self.value}" if self.least else f"{name}_min <= {self.value}"

    @property
    def iceberg(self) -> Any:
        word = iceberg.GreaterThanOrEqual if self.least else iceberg.LessThanOrEqual
        return word(self.column.name, self.value)

    @property
    def sql_always(self) -> str:
        name = self.column.name
        return f"{name}_min >= {self.value}" if self.least else f"{name}_max <= {self.value}"

    def may(self, m: Arrays) -> np.ndarray:
        """Tell whether some value of the block may be on this side."""
        name = self.column.name
        return m[f"{name}_max"] >= self.value if self.least else m[f"{name}_min"] <= self.value

    def always(self, m: Arrays) -> np.ndarray:
        """Tell whether every value of the block is on this side."""
        name = self.column.name
        return m[f"{name}_min"] >= self.value if self.least else m[f"{name}_max"] <= self.value


def between(column: Column, low: int, high: int) -> tuple[Side, Side]:
    """Return the question `column BETWEEN low AND high`."""
    return Side(column, True, low), Side(column, False, high)


def ranges(name: str, sides: tuple[Side, ...], prefix: bytes | None = None) -> Question:
    """Return the question that all sides hold, and maybe `s LIKE 'prefix%'`."""
    text = "" if prefix is None else prefix.decode()
    after = b"" if prefix is None else prefix[:-1] + bytes([prefix[-1] + 1])
    likes: list[Expression] = [] if prefix is None else [Like(S, prefix + b"%")]

    def may(m: Arrays) -> np.ndarray:
        found = reduce(np.logical_and, [side.may(m) for side in sides])
        return found if prefix is None else found & (m["s_max"] >= prefix) & (m["s_min"] < after)

    def verdicts(m: Arrays) -> np.ndarray:
        inside = reduce(np.logical_and, [side.always(m) for side in sides]) & (m["nulls"] == 0)
        if prefix is not None:
            inside &= (m["s_min"] >= prefix) & (m["s_max"] < after)
        return np.where(inside, 2, may(m)).astype(np.int8)

    conditions = [side.sql for side in sides]
    inside = ["nulls = 0", *(side.sql_always for side in sides)]
    forms = [side.iceberg for side in sides]
    if prefix is not None:
        conditions += [f"s_max >= '{text}'", f"s_min < '{after.decode()}'"]
        inside += [f"s_min >= '{text}'", f"s_max < '{after.decode()}'"]
        forms.append(iceberg.StartsWith("s", text))
    may_sql, inside_sql = " AND ".join(conditions), " AND ".join(inside)
    return Question(
        name=name,
        predicate=And((*(side.expression for side in sides), *likes)),
        numpy_skips=may,
        numpy_verdicts=verdicts,
        sql=f"SELECT ordinal FROM m WHERE {may_sql}",
        sql_verdicts=f"SELECT CASE WHEN {inside_sql} THEN 2 WHEN {may_sql} THEN 1 ELSE 0 END::TINYINT FROM m",
        iceberg=reduce(iceberg.And, forms),
    )


def one_comparison() -> Question:
    """Return the question `a <= c`, to compare the list with."""
    side = Side(A, False, 6_000_000)
    return Question(
        name="a <= c",
        predicate=side.expression,
        numpy_skips=side.may,
        sql=f"SELECT ordinal FROM m WHERE {side.sql}",
        iceberg=side.iceberg,
    )


def feet_or_metres() -> Question:
    """Return IF (unit = 'feet', a + 1000, a) > c, whose branch the metadata decides for most blocks."""
    limit = VALUES // 2
    shifted = Arithmetic(Operator.ADD, A, Literal(FEET, LONG), LONG)
    value = Case(((Compare(Comparison.EQUAL, UNIT, Literal(b"feet", STRING)), shifted),), A)

    def may(m: Arrays) -> np.ndarray:
        feet = (m["unit_min"] <= b"feet") & (m["unit_max"] >= b"feet") & (m["a_max"] + FEET > limit)
        either = (m["unit_min"] != b"feet") | (m["unit_max"] != b"feet") | (m["nulls"] > 0)
        return feet | (either & (m["a_max"] > limit))

    return Question(
        name="IF(unit = 'feet', a + 1000, a) > c",
        predicate=Compare(Comparison.GREATER, value, Literal(limit, LONG)),
        numpy_skips=may,
        sql=f"""SELECT ordinal FROM m WHERE
            (unit_min <= 'feet' AND unit_max >= 'feet' AND a_max + {FEET} > {limit})
            OR ((unit_min <> 'feet' OR unit_max <> 'feet') AND a_max > {limit})""",
    )


MEMBERS = np.sort(np.random.default_rng(11).choice(VALUES, 1_000, replace=False))


def a_list(count: int) -> Question:
    """Return the question `a IN (some members)`; PyIceberg evaluates lists of up to 200."""
    chosen = MEMBERS[:: len(MEMBERS) // count]

    def may(m: Arrays) -> np.ndarray:
        return np.searchsorted(chosen, m["a_min"]) < np.searchsorted(chosen, m["a_max"], "right")

    members = [int(member) for member in chosen]
    listed = f"(SELECT unnest({members}) AS v)"
    return Question(
        name=f"a IN ({count:,} members)",
        predicate=In(A, tuple(Literal(member, LONG) for member in members)),
        numpy_skips=may,
        sql=f"SELECT ordinal FROM m ASOF JOIN {listed} ON a_min <= v WHERE v <= a_max",
        iceberg=iceberg.In("a", members),
    )


def thirty_leaves() -> Question:
    """Return an AND of five ORs, each of three ranges: 30 comparisons."""
    random = np.random.default_rng(13)
    arms = [
        [
            between(column, low, low + VALUES // 4)
            for column, low in zip((A, B, A), random.integers(0, VALUES, 3).tolist(), strict=True)
        ]
        for _ in range(5)
    ]

    def may(m: Arrays) -> np.ndarray:
        ors = [reduce(np.logical_or, [low.may(m) & high.may(m) for low, high in arm]) for arm in arms]
        return reduce(np.logical_and, ors)

    return Question(
        name="30 leaves of AND and OR",
        predicate=And(
            tuple(Or(tuple(And((low.expression, high.expression)) for low, high in arm)) for arm in arms)
        ),
        numpy_skips=may,
        sql="SELECT ordinal FROM m WHERE "
        + " AND ".join(
            "(" + " OR ".join(f"({low.sql} AND {high.sql})" for low, high in arm) + ")" for arm in arms
        ),
        iceberg=reduce(
            iceberg.And,
            [
                reduce(iceberg.Or, [iceberg.And(low.iceberg, high.iceberg) for low, high in arm])
                for arm in arms
            ],
        ),
    )


QUESTIONS = (
    one_comparison(),
    ranges("a BETWEEN", between(A, 2_000_000, 6_000_000)),
    ranges("b BETWEEN", between(B, 2_000_000, 6_000_000)),
    ranges(
        "a BETWEEN, b BETWEEN, s LIKE '0001%'",
        (*between(A, 2_000_000, 6_000_000), *between(B, 1_000_000, 9_000_000)),
        b"0001",
    ),
    feet_or_metres(),
    a_list(200),
    a_list(1_000),
    thirty_leaves(),
)
