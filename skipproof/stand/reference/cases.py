"""The comparisons of a question and their values, for the predicates of the entries in `meanings`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

from strategies.engines.engine_tables import StoredTable
from strategies.engines.engine_values import integer_range
from strategies.engines.functions import ARITHMETIC, STRICT, meaning, units_per_day
from strategies.engines.questions import (
    Aggregate,
    Call,
    Column,
    Json,
    Literal,
    Question,
    Subquery,
    Term,
    subterms,
)

COMPARISON_FUNCTIONS = frozenset(
    {"=", "!=", "<", "<=", ">", ">=", "is not distinct from", "is distinct from", "in", "between", "nullif"}
)
NANS = ("NaN", "-NaN")
_VALUES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Case:
    """A question, its tables and its settings.

    Attributes:
        settings: The value of every setting of the engine.
        cells_by_column: A cache of the distinct values of columns, by their names.
    """

    question: Question
    tables: Mapping[str, StoredTable]
    settings: Mapping[str, str] = field(default_factory=dict)
    cells_by_column: dict[str, tuple[Json, ...]] = field(default_factory=dict)

    def column(self, name: str) -> Column:
        """Return the column of a name, from any of the tables."""
        columns = (column for table in self.tables.values() for column in table.columns)
        return next(column for column in columns if column.name == name)

    def cells(self, name: str) -> tuple[Json, ...]:
        """Return the distinct values of a column: both zeros, every NaN, and NULL if a join may add it."""
        if name == "group" and self.question.group is not None:
            return self.values(self.question.group)
        if name in self.question.answer_columns and name.startswith("aggregate "):
            return self._aggregate_values(self.question.aggregates[int(name.split()[1])])
        if name not in self.cells_by_column:
            holder, table = next(
                (holder, table)
                for holder, table in self.tables.items()
                if name in [c.name for c in table.columns]
            )
            cells = {repr(cell): cell for cell in table.cells(name)}
            if self._is_extended(holder):
                cells[repr(None)] = None
            self.cells_by_column[name] = tuple(cells.values())
        return self.cells_by_column[name]

    def _aggregate_values(self, aggregate: Aggregate) -> tuple[Json, ...]:
        """Return a superset of the values of an aggregate, of counts and sums their bounds."""
        rows = sum(len(block) for table in self.tables.values() for block in table.blocks)
        if aggregate.of is None or aggregate.function == "count":
            return (0, rows)
        values = self.values(aggregate.of)
        if aggregate.function == "sum":
            return (None, *(value * count for value in values if value is not None for count in (1, rows)))
        return (*values, None)

    def _is_extended(self, table: str) -> bool:
        """Tell whether a join keeps rows of the other side without a partner in this table."""
        joins = [join for join in (self.question.join, self.question.second) if join is not None]
        return any(
            join.kind in (("left", "full") if join.right.table == table else ("right", "full"))
            for join in joins
        )

    def values(self, term: Term) -> tuple[Json, ...]:
        """Return a superset of the values that a term may have; integers may exceed their type."""
        if isinstance(term, Column):
            return self.cells(term.name)
        if isinstance(term, Literal):
            return (term.value,)
        if isinstance(term, Subquery):
            if term.kind in ("min", "max"):
                return (*self.cells(term.column.name), None)
            return (0, sum(map(len, self.tables[term.relation.table].blocks)))
        if term.function == "if":
            return self.values(term.of[1]) + self.values(term.of[2])
        if term.function in STRICT:
            return self._strict_values(term)
        if "cast" in term.function:
            return self._cast_values(term)
        if term.function == "nullif":
            return (*self.values(term.of[0]), None)
        parts = (self.values(part) for part in term.of)
        return tuple(value for part in parts for value in part)

    def _strict_values(self, term: Call) -> tuple[Json, ...]:
        """Return the values of a function that is NULL where an operand is; integers are exact."""
        operands = [self.values(part) for part in term.of]
        evaluate = meaning(term.function, term.of[0].type)
        if prod(map(len, operands)) > _VALUES_MAX and term.type.startswith(("int", "uint")):
            # Too many to compute: as if all were possible.
            return (*integer_range(term.type), None)
        present = [some for some in product(*operands) if None not in some]
        lacks_null = all(None not in piece for piece in operands)
        # The two zeros are equal, and are two values.
        distinct = {repr(result): result for result in (evaluate(*some) for some in present)}
        return (*distinct.values(), *(() if lacks_null else (None,)))

    def _cast_values(self, term: Call) -> tuple[Json, ...]:
        """Return the values of a cast; integers may exceed its type."""
        cells = self.values(term.of[0])
        lacking = (None,) if term.function == "try cast" else ()
        if term.type == "string":
            return (*(None if cell is None else str(cell) for cell in cells), *lacking)
        if term.type == "float64":
            return (*(None if cell is None else float(cell) for cell in cells), *lacking)
        if term.type == "date":
            per_day = units_per_day(term.of[0].type)
            return (*(None if cell is None else cell // per_day for cell in cells), *lacking)
        return (*cells, *lacking)

    @property
    def calls(self) -> Iterator[Call]:
        """Every function call of the question."""
        for term in self.question.terms:
            yield from (part for part in subterms(term) if isinstance(part, Call))

    @property
    def comparisons(self) -> Iterator[tuple[str, tuple[Term, ...]]]:
        """Every comparison, as its kind and operands: by functions, orders, join keys, and within columns."""
        question = self.question
        yield from ((call.function, call.of) for call in self.calls if call.function in COMPARISON_FUNCTIONS)
        yield from (("order", self._order_operands(key.by)) for key in question.order)
        for relation in question.relations:
            yield from (("order", (key.by,)) for key in relation.order)
        for relation in question.relations:
            if relation.distinct:
                yield "distinct", (self.column(relation.distinct),)
        for join in (question.join, question.second):
            if join is not None:
                yield "join", (self.column(join.left_key), self.column(join.right_key))
        if question.window is not None:
            yield from (("order", (key.by,)) for key in question.window.order)
            if question.window.partition is not None:
                yield "group", (question.window.partition,)
        for name, other in self._sides.items():
            yield "distinct", (self.column(name), self.column(other))
        for query in question.queries:
            operands = (query.column,) if query.operand is None else (query.operand, query.column)
            yield {"exists": "join"}.get(query.kind, query.kind), operands
        if question.group is not None:
            yield "group", (question.group,)
        for aggregate in question.aggregates:
            if aggregate.of is not None and aggregate.function in ("min", "max"):
                yield aggregate.function, (aggregate.of,)
            if aggregate.of is not None and aggregate.distinct:
                yield "distinct", (aggregate.of,)

    @property
    def _sides(self) -> Mapping[str, str]:
        """The column of the right side of a set operation for each of the left; empty if there is none."""
        question = self.question
        return {} if question.set is None else dict(zip(question.select, question.set.columns, strict=True))

    def _order_operands(self, key: Term) -> tuple[Term, ...]:
        """Return what a key of the answer's order compares: of a set operation, the columns of both sides."""
        if isinstance(key, Column) and key.name in self._sides:
            return (key, self.column(self._sides[key.name]))
        return (key,)

    @property
    def words(self) -> frozenset[str]:
        """The functions, types and kinds of joins of the question; types in full and without parameters."""
        functions = {call.function for call in self.calls}
        functions |= {aggregate.function for aggregate in self.question.aggregates}
        joins = (self.question.join, self.question.second)
        kinds = {join.kind for join in joins if join is not None}
        terms = [part for term in self.question.terms for part in subterms(term)]
        terms += [term for _, operands in self.comparisons for term in operands]
        types = {term.type for term in terms} | {self.column(name).type for name in self.question.select}
        return frozenset({*functions, *kinds, *types, *(type_.partition("(")[0] for type_ in types)})


def compares_nan(case: Case) -> bool:
    """Tell whether a NaN is compared or ordered."""
    return any(_may_be(case, operands, NANS) for _, operands in case.comparisons)


def looks_up_nan(case: Case) -> bool:
    """Tell whether a NaN is a key of a join, or in an IN."""
    return any(how in ("in", "join") and _may_be(case, operands, NANS) for how, operands in case.comparisons)


def takes_maximum_of_nan(case: Case) -> bool:
    """Tell whether a maximum may be over a NaN."""
    return any(how == "max" and _may_be(case, operands, NANS) for how, operands in case.comparisons)


def compares_negative_nan(case: Case) -> bool:
    """Tell whether a NaN whose sign bit is set is compared or ordered."""
    return any(_may_be(case, operands, ("-NaN",)) for _, operands in case.comparisons)


def compares_term_of_negative_nan(case: Case) -> bool:
    """Tell whether a term is compared or ordered that is or has a NaN whose sign bit is set."""
    operands = (operand for _, operands in case.comparisons for operand in operands)
    return any(_may_be(case, tuple(subterms(operand)), ("-NaN",)) for operand in operands)


def negates_in_with_null_member(case: Case) -> bool:
    """Tell whether NOT is over an IN whose list may have NULL."""
    lists = _under_not(case, "in")
    return any(None in case.values(member) for call in lists for member in call.of[1:])


def negates_in_of_null(case: Case) -> bool:
    """Tell whether NOT is over an IN whose left operand may be NULL."""
    return any(None in case.values(call.of[0]) for call in _under_not(case, "in"))


def negates_in_subquery_with_null(case: Case) -> bool:
    """Tell whether NOT is over an IN of a subquery whose operand or column may be NULL."""
    for negation in (call for call in case.calls if call.function == "not"):
        queries = [part for part in subterms(negation) if isinstance(part, Subquery) and part.kind == "in"]
        for query in queries:
            operands = (query.column,) if query.operand is None else (query.operand, query.column)
            if any(None in case.values(operand) for operand in operands):
                return True
    return False


def negates_nan_test_of_null(case: Case) -> bool:
    """Tell whether NOT is over a NaN test whose operand may be NULL."""
    return any(None in case.values(call.of[0]) for call in _under_not(case, "is nan"))


def _under_not(case: Case, function: str) -> Iterator[Call]:
    """Yield the calls of a function below a NOT."""
    for negation in (call for call in case.calls if call.function == "not"):
        for part in subterms(negation):
            if isinstance(part, Call) and part.function == function:
                yield part


def divides_negative(case: Case) -> bool:
    """Tell whether the dividend of a remainder or of an integer quotient may be negative, or wrap to be."""
    divided = (call.of[0] for call in case.calls if call.function in ("%", "//"))
    return any(
        not _fits(case.values(term), term.type)
        or any(value < 0 for value in case.values(term) if value is not None)
        for term in divided
    )


def returns_nanoseconds_before_1970(case: Case) -> bool:
    """Tell whether an answer may have a timestamp before 1970 that is no whole number of microseconds."""
    question = case.question
    second = question.set.columns if question.set is not None else ()
    terms: list[Term] = [case.column(name) for name in (*question.select, *second)]
    terms += [
        term for term in (question.group, *(part.of for part in question.aggregates)) if term is not None
    ]
    cells = [case.values(term) for term in terms if term.type == "timestamp(ns)"]
    if question.to is not None and question.to.type == "timestamp(ns)":
        cells.append((question.to.value,))
    return any(value < 0 and value % 1_000 for column in cells for value in column if value is not None)


def compares_both_zeros(case: Case) -> bool:
    """Tell whether one comparison of any kind may involve both zeros."""
    return _involves_both_zeros(case, None)


def compares_negated_zero(case: Case) -> bool:
    """Tell whether a zero, or a term of one, is negated and compared with a zero."""
    for _, operands in case.comparisons:
        zeros = [operand for operand in operands if _may_be(case, (operand,), ("0.0", "-0.0"))]
        parts = (part for operand in zeros for part in subterms(operand))
        if len(zeros) > 1 and any(isinstance(part, Call) and part.function == "negate" for part in parts):
            return True
    return False


def orders_both_zeros(case: Case) -> bool:
    """Tell whether an order may have both zeros."""
    return _involves_both_zeros(case, ("order",))


def looks_up_both_zeros(case: Case) -> bool:
    """Tell whether both zeros may meet in an IN, or as keys of a join."""
    return _involves_both_zeros(case, ("in", "join"))


def hashes_both_zeros(case: Case) -> bool:
    """Tell whether both zeros may meet in an IN, as keys of a join or a group, or among distinct values."""
    return _involves_both_zeros(case, ("in", "join", "group", "distinct"))


def nullifies_both_zeros(case: Case) -> bool:
    """Tell whether both zeros may meet in a NULLIF."""
    return _involves_both_zeros(case, ("nullif",))


def _involves_both_zeros(case: Case, ways: tuple[str, ...] | None) -> bool:
    """Tell whether the sign of a zero may decide a comparison of one of these kinds."""
    return any(
        _may_be(case, operands, ("-0.0",)) and _may_be(case, operands, ("0.0",))
        for how, operands in case.comparisons
        if (ways is None or how in ways) and not (how == "in" and _lists_both_zeros(operands))
    )


def _lists_both_zeros(operands: tuple[Term, ...]) -> bool:
    """Tell whether the constants of an IN list have both zeros, so that it has every zero."""
    constants = {repr(of.value) for of in operands[1:] if isinstance(of, Literal)}
    return {"0.0", "-0.0"} <= constants


def _may_be(case: Case, operands: tuple[Term, ...], texts: tuple[str, ...]) -> bool:
    """Tell whether a floating-point operand may have one of these values."""
    floats = (operand for operand in operands if operand.type.startswith("float"))
    return any(str(value) in texts for operand in floats for value in case.values(operand))


def overflows(case: Case) -> bool:
    """Tell whether a sum, difference, product or absolute value of integers may exceed its type."""
    computed = (call for call in case.calls if call.function in ARITHMETIC)
    return any(not _fits(case.values(call), call.type) for call in computed)


def casts_beyond_type(case: Case) -> bool:
    """Tell whether an integer may be cast to a type that cannot hold it."""
    casts = (call for call in case.calls if "cast" in call.function and call.type.startswith(("int", "uint")))
    return any(not _fits(case.values(call), call.type) for call in casts)


def _fits(values: tuple[Json, ...], type_: str) -> bool:
    """Tell whether all values fit an integer type."""
    if not type_.startswith(("int", "uint")):
        return True
    low, high = integer_range(type_)
    return all(low <= value <= high for value in values if value is not None)
