"""The declared differences in meaning between engines and the reference.

An entry is a class of questions that some engines and versions answer differently on purpose; the reference
does not judge such questions. An error that an engine makes in both forms is then not seen, so each entry is
as narrow as possible: comparisons of integers, texts, dates and decimals, joins and LIMIT are never declared.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from skipproof.stand.adapters.serving import QUERIED_AREAS
from skipproof.stand.reference.cases import (
    Case,
    casts_beyond_type,
    compares_both_zeros,
    compares_nan,
    compares_negated_zero,
    compares_negative_nan,
    compares_term_of_negative_nan,
    divides_negative,
    hashes_both_zeros,
    looks_up_both_zeros,
    looks_up_nan,
    negates_in_of_null,
    negates_in_subquery_with_null,
    negates_in_with_null_member,
    negates_nan_test_of_null,
    nullifies_both_zeros,
    orders_both_zeros,
    overflows,
    returns_nanoseconds_before_1970,
    takes_maximum_of_nan,
)
from skipproof.stand.workers.workers import Hello

# The name of a difference that the engine's worker itself declares.
OWN = "the worker says that it differs"
# The words by which the engines tell that a number does not fit its type.
_OUT_OF_RANGE = re.compile("overflow|out of range", re.IGNORECASE)

Applies: TypeAlias = Callable[[Case], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeaningDifference:
    """A class of questions that engines answer differently from the reference.

    Attributes:
        engines: The names of the engines; empty for all but `agreeing`.
        agreeing: The engines that agree with the reference, or have entries of their own.
        versions: The versions of the engines as a specifier; empty for all.
        applies: A predicate that tells whether a case is in the class.
        reason: The behaviour of the engines.
        source: Their documentation of it; empty if engines differ among themselves.
        raises: Whether an engine may raise an error, which depends on whether its plan computes the value.
    """

    name: str
    engines: tuple[str, ...] = ()
    agreeing: tuple[str, ...] = ()
    versions: str = ""
    applies: Applies
    reason: str
    source: str = ""
    raises: bool = False

    def is_of(self, engine: str, version: str) -> bool:
        """Tell whether a release differs; a version that cannot be parsed may be any."""
        if engine in self.agreeing or (self.engines and engine not in self.engines):
            return False
        try:
            return SpecifierSet(self.versions).contains(Version(version), prereleases=True)
        except InvalidVersion:
            return True


def pyarrow_meanings(
    name: str, applies: Applies, *, engines: tuple[str, ...], reason: str, source: str
) -> tuple[MeaningDifference, MeaningDifference]:
    """Return the entries of a difference of pyarrow: for engines, and for Delta tables that it reads."""

    def read(case: Case) -> bool:
        return not _is_changed(case) and _reader(case) != "query" and applies(case)

    return (
        MeaningDifference(name=name, engines=engines, applies=applies, reason=reason, source=source),
        MeaningDifference(name=name, engines=("deltalake",), applies=read, reason=reason, source=source),
    )


def of_datafusion_only(applies: Applies) -> Applies:
    """Restrict a class of questions to Delta tables that DataFusion reads or changes."""
    return lambda case: (_is_changed(case) or _reader(case) != "pyarrow") and applies(case)


def _is_changed(case: Case) -> bool:
    """Tell whether the question changes its table."""
    return case.question.area == "dml"


def _reader(case: Case) -> str | None:
    """Return the reader of a Delta table; orders and joins are never read by pyarrow."""
    reader = case.settings.get("reader")
    return "query" if reader and case.question.area in QUERIED_AREAS else reader


# The engines of this package, whose differences are all in the list.
DECLARED_ENGINES = (
    "arrow", "chdb", "chdb-tables", "daft", "datafusion", "deltalake", "duckdb", "duckdb-tables", "iceberg",
    "polars", "skipproof", "small", "spark",
)  # fmt: skip

_CLICKHOUSE = ("chdb", "chdb-tables")

MEANINGS: tuple[MeaningDifference, ...] = (
    MeaningDifference(
        name="NaN",
        agreeing=DECLARED_ENGINES,
        applies=compares_nan,
        reason="NaN is equal to nothing in many engines, and below all numbers in some.",
    ),
    *pyarrow_meanings(
        "NaN by IEEE 754",
        compares_nan,
        engines=("arrow", "iceberg"),
        reason="pyarrow compares by IEEE 754, where NaN is neither equal to anything nor above or below it.",
        source="https://github.com/apache/arrow/issues/34162",
    ),
    MeaningDifference(
        name="NaN by IEEE 754",
        engines=("polars",),
        versions="<0.20",
        applies=compares_nan,
        reason="Polars compared by IEEE 754, where NaN is neither equal to anything nor above or below it.",
        source="https://docs.pola.rs/releases/upgrade/0.20/",
    ),
    MeaningDifference(
        name="NaN by IEEE 754",
        engines=_CLICKHOUSE,
        applies=compares_nan,
        reason="Comparisons are those of C++; NaN comes after all numbers in orders of either direction.",
        source="https://clickhouse.com/docs/sql-reference/statements/select/order-by",
    ),
    MeaningDifference(
        name="the sign of NaN",
        engines=("datafusion", "deltalake"),
        applies=of_datafusion_only(compares_negative_nan),
        reason="arrow-rs orders by IEEE 754's totalOrder: NaN with its sign bit set is below all numbers.",
        source="https://arrow.apache.org/rust/arrow_ord/cmp/fn.lt.html",
    ),
    MeaningDifference(
        name="the sign of zero",
        agreeing=DECLARED_ENGINES,
        applies=compares_both_zeros,
        reason="-0.0 is below 0.0 in some engines, and has a hash of its own in others.",
    ),
    MeaningDifference(
        name="the sign of NaN",
        engines=("daft",),
        applies=compares_term_of_negative_nan,
        reason="arrow-rs orders by IEEE 754's totalOrder; -a is 0 - a, which keeps the sign of NaN.",
        source="https://arrow.apache.org/rust/arrow_ord/cmp/fn.lt.html",
    ),
    MeaningDifference(
        name="NaN that is looked up",
        engines=("daft",),
        applies=looks_up_nan,
        reason="Joins and IN of a subquery find no NaN equal to another one; comparisons do.",
    ),
    MeaningDifference(
        name="the sign of zero",
        engines=("daft",),
        applies=compares_both_zeros,
        reason="arrow-rs compares by IEEE 754's totalOrder, where -0.0 is below 0.0.",
        source="https://arrow.apache.org/rust/arrow_ord/cmp/fn.lt.html",
    ),
    MeaningDifference(
        name="the sign of zero",
        engines=("daft",),
        applies=compares_negated_zero,
        reason="-a is 0 - a, which is 0.0 where a is 0.0.",
    ),
    MeaningDifference(
        name="the sign of zero",
        engines=("datafusion",),
        versions="<55",
        applies=compares_both_zeros,
        reason="arrow-rs compared by IEEE 754's totalOrder, where -0.0 is below 0.0.",
        source="https://github.com/apache/arrow-rs/pull/3510",
    ),
    MeaningDifference(
        name="the order of zeros",
        engines=("datafusion", "deltalake"),
        applies=of_datafusion_only(orders_both_zeros),
        reason="arrow-rs sorts by IEEE 754's totalOrder: -0.0 is below 0.0, which it equals in comparisons.",
        source="https://arrow.apache.org/rust/arrow_ord/cmp/fn.lt.html",
    ),
    MeaningDifference(
        name="zeros in NULLIF",
        engines=("datafusion", "deltalake"),
        applies=of_datafusion_only(nullifies_both_zeros),
        reason="arrow-rs compares by IEEE 754's totalOrder there, where -0.0 is not 0.0.",
        source="https://arrow.apache.org/rust/arrow_ord/cmp/fn.eq.html",
    ),
    *pyarrow_meanings(
        "zeros that are looked up",
        looks_up_both_zeros,
        engines=("arrow", "iceberg"),
        reason="pyarrow's isin and joins compare floats by their bits, where -0.0 is not 0.0.",
        source="https://github.com/apache/arrow/issues/21050",
    ),
    MeaningDifference(
        name="zeros that are hashed",
        engines=_CLICKHOUSE,
        applies=hashes_both_zeros,
        reason="IN, joins, groups and DISTINCT find floats by their bits, where -0.0 is not 0.0.",
        source="https://github.com/ClickHouse/ClickHouse/issues/2059",
    ),
    MeaningDifference(
        name="the maximum with NaN",
        engines=("polars",),
        applies=takes_maximum_of_nan,
        reason="max passes over NaN where there is a number.",
        source="https://docs.pola.rs/api/python/stable/reference/expressions/api/polars.Expr.nan_max.html",
    ),
    MeaningDifference(
        name="integers beyond their type",
        agreeing=("arrow", "deltalake", "iceberg", "polars", "skipproof", "small", "spark"),
        applies=overflows,
        reason="Engines raise an error, compute in a wider type, or move a constant across a comparison.",
        raises=True,
    ),
    MeaningDifference(
        name="integers beyond their type",
        engines=("deltalake",),
        applies=of_datafusion_only(overflows),
        reason="A literal of DataFusion's SQL is an int64, and an integer that it is added to becomes one.",
        source="https://datafusion.apache.org/user-guide/sql/data_types.html",
    ),
    MeaningDifference(
        name="casts beyond a type",
        agreeing=DECLARED_ENGINES,
        applies=casts_beyond_type,
        reason="Engines raise an error, give NULL, or give the nearest value.",
        raises=True,
    ),
    MeaningDifference(
        name="the remainder of a negative integer",
        agreeing=tuple(name for name in DECLARED_ENGINES if name != "polars"),
        applies=divides_negative,
        reason="As in Python, % has the sign of the divisor and // rounds down; not so in SQL.",
        source="https://docs.pola.rs/api/python/stable/reference/expressions/api/polars.Expr.mod.html",
    ),
    MeaningDifference(
        name="not in a list with NULL",
        engines=("polars",),
        applies=negates_in_with_null_member,
        reason="is_in is false of a value that the list has not, though the list has NULL.",
        source="https://docs.pola.rs/api/python/stable/reference/expressions/api/polars.Expr.is_in.html",
    ),
    MeaningDifference(
        name="not in a list with NULL",
        engines=_CLICKHOUSE,
        applies=negates_in_with_null_member,
        reason="NULL in a list is passed over, unless transform_null_in is set.",
        source="https://clickhouse.com/docs/sql-reference/operators/in#null-processing",
    ),
    MeaningDifference(
        name="not in a subquery with NULL",
        engines=_CLICKHOUSE,
        applies=negates_in_subquery_with_null,
        reason="NULL of the subquery is passed over, and NULL is not in an empty one is NULL.",
        source="https://clickhouse.com/docs/sql-reference/operators/in#null-processing",
    ),
    *pyarrow_meanings(
        "NULL is not in a list",
        negates_in_of_null,
        engines=("arrow",),
        reason="pyarrow's isin looks NULL up as a value, and is false where the list has none.",
        source="https://arrow.apache.org/docs/python/generated/pyarrow.compute.is_in.html",
    ),
    MeaningDifference(
        name="NULL is not NaN",
        engines=("skipproof", "spark"),
        applies=negates_nan_test_of_null,
        reason="isnan of NULL is false.",
        source="https://spark.apache.org/docs/latest/api/sql/index.html#isnan",
    ),
    MeaningDifference(
        name="nanoseconds as microseconds",
        engines=("duckdb", "duckdb-tables"),
        applies=returns_nanoseconds_before_1970,
        reason="Python is given a datetime in whole microseconds, rounded toward 1970.",
        source="https://duckdb.org/docs/stable/clients/python/conversion",
    ),
)


def difference_name(hello: Hello, case: Case) -> str:
    """Return the name of the first entry that applies; empty if the reference judges the question."""
    if hello.differs and hello.differs & case.words:
        return OWN
    entries = (entry for entry in MEANINGS if entry.is_of(hello.reader or hello.engine, hello.version))
    return next((entry.name for entry in entries if entry.applies(case)), "")


def reason_to_raise(case: Case, error: str) -> str:
    """Return the name of the entry that lets any engine raise an error; empty if none does.

    Such an error names what is out of range. Whether there is one depends on the plan, so that one form of a
    table may raise it alone.
    """
    if not _OUT_OF_RANGE.search(error):
        return ""
    return next((entry.name for entry in MEANINGS if entry.raises and entry.applies(case)), "")
