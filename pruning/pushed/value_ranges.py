"""Values of one column on which a condition may be TRUE, as ranges, without any statistics of files.

Spark pushes only simple comparisons to its Parquet reader. The ranges say what an IF, a function, a long IN
list or the keys of a join mean for one column, in a form that Spark pushes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pruning.expressions.traversal import columns
from pruning.expressions.trees import And, Column, Expression
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.table.schema import block_schema
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.canonical import canonical
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.program.operations import Program
from pruning.rules.sets import cuts, outcomes
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.decimals import decimal_from_units, units_and_scale
from pruning.rules.sets.outcomes import EVERYTHING, NOTHING, ValueSet
from pruning.rules.sets.primitives import has_steps, step
from pruning.rules.sets.truths import Match
from pruning.techniques.join.summary_ranges import Ranges
from pruning.verdicts.classification import classify_blocks, compile_predicate

# The most virtual blocks that are classified at once, and the parts that one interval is divided into.
BLOCKS_MAX = 4_096
PARTS = 64
# Sixty-four parts of parts of ... divide the longest interval of 64 bits into single values.
_ROUNDS_MAX = 12
# The ordinals of the first and the last value of an interval, of a type with steps.
_Span: TypeAlias = tuple[int, int]


def conjuncts_on(predicate: Expression, column: str) -> tuple[Expression, ...]:
    """Return the conjuncts of a predicate that name a column, each once."""
    parts: list[Expression] = []
    pending = [predicate]
    while pending:
        part = pending.pop()
        if isinstance(part, And):
            pending += reversed(part.operands)
        elif column in columns(part):
            parts.append(part)
    return tuple(dict.fromkeys(parts))


def value_set(conjuncts: Sequence[Expression], column: Column) -> ValueSet:
    """Return the values on which all conjuncts may be TRUE, by those that depend on the column alone.

    Claim     A row on which each conjunct is TRUE has its value of the column in the set.
    Premises  `Analysis.outcomes` misses no value of its subject on which a conjunct is TRUE.
    Proof     (1) Of a conjunct on another expression nothing is said.
              (2) The row's value is in the set of each other conjunct, so in the intersection; the hull of
              a language holds all of its strings.
    """
    analysis = Analysis(RULES)
    sets = [EVERYTHING]
    for conjunct in conjuncts:
        result = analysis.outcomes(canonical(conjunct))
        if result.subject == column:  # (1)
            sets.append(_as_intervals(result.true, column.type))
        elif result.subject is None and result.true.empty:
            return NOTHING
    return outcomes.intersection(sets)  # (2)


def value_ranges(conjuncts: Sequence[Expression], column: Column, within: Cuts) -> Cuts:
    """Return the values, among those of a set, on which all conjuncts may be TRUE.

    Claim     A row on which each conjunct is TRUE, and whose value is in `within`, has it in the result.
    Premises  The rules are sound for each block, whatever lies in it.
    Proof     (1) A row with a value in an interval is, alone, a block with the interval as its bounds and
              without NULL; other columns are unknown there. If the block is called NONE, the conjunction is
              not TRUE on the row.
              (2) An interval is divided into parts that hold all of its values, and only parts that are
              called NONE are left out.
    Unsound   for floats, which have no place for NaN in the parts; they are never asked for.

    Args:
        conjuncts: Boolean expressions, at least one.
        column: A column that they name, of a type with an order and not floating.
        within: A set that is bounded.
    """
    values = value_set(conjuncts, column).cuts
    assert isinstance(values, Cuts)
    return _narrow(_program(conjuncts), column, cuts.intersection(values, within))


def may_match_null(conjuncts: Sequence[Expression], column: Column) -> bool:
    """Tell whether all conjuncts may be TRUE on a row in which the column is NULL.

    Claim     If not, they are on no such row.
    Premises  The rules are sound for each block.
    Proof     (1) No conjunct on the column alone is TRUE on NULL, by its set of values.
              (2) Or the row is, alone, a block of NULL, other columns unknown, that is called NONE.
    """
    if not conjuncts:
        return True
    if not value_set(conjuncts, column).null:  # (1)
        return False
    return bool(_matches(_program(conjuncts), column, [{"null_count": 1}])[0] != Match.NONE)  # (2)


def closed_ranges(values: Cuts, type_: Type) -> list[tuple[Value | None, Value | None, bool]]:
    """Return each interval of a set as its least value, its greatest one, and whether that is excluded.

    None is the end of the type. Only a string's greatest value can be excluded: no string precedes another
    one immediately, unless that ends with a zero byte.
    """
    ranges: list[tuple[Value | None, Value | None, bool]] = []
    for start, end in values.intervals():
        lower = None if start is None else start[0]
        if end is None:
            ranges.append((lower, None, False))
        elif isinstance(end[0], bytes):
            is_excluded = not end[0].endswith(b"\0")
            ranges.append((lower, end[0] if is_excluded else end[0][:-1], is_excluded))
        else:
            ranges.append((lower, step(end[0], type_, sign=-1), False))
    return ranges


def width(values: Cuts, type_: Type) -> int | None:
    """Return how many values a set has, of a type with steps; None for any other type."""
    return sum(last - first + 1 for first, last in _spans(values, type_)) if has_steps(type_) else None


def with_fewer_ranges(values: Cuts, type_: Type, ranges_max: int) -> Cuts:
    """Return a set of at most so many intervals that holds the values: the narrowest gaps are closed.

    Args:
        values: A bounded set of a type that is not floating.
        type_: The values' type.
        ranges_max: The most intervals, > 0.
    """
    ranges = as_ranges(values, type_)
    return values if len(ranges) <= ranges_max else as_cuts(ranges.within_count(ranges_max), type_)


def as_ranges(values: Cuts, type_: Type) -> Ranges:
    """Return ranges around a bounded set: the ends of its intervals, also those that are excluded."""
    least, greatest = _ends(type_)
    lanes, closed = lane_type(type_), closed_ranges(values, type_)
    lowers = pa.array([least if lower is None else lower for lower, _, _ in closed], lanes)
    uppers = pa.array([greatest if upper is None else upper for _, upper, _ in closed], lanes)
    return Ranges(lowers, uppers)


def as_cuts(ranges: Ranges, type_: Type) -> Cuts:
    """Return the values in ranges as a set."""
    pairs = zip(ranges.lowers.to_pylist(), ranges.uppers.to_pylist(), strict=True)
    united = outcomes.union(ValueSet(cuts.between(lower, upper, type_)) for lower, upper in pairs).cuts
    assert isinstance(united, Cuts)
    return united


def _as_intervals(values: ValueSet, type_: Type) -> ValueSet:
    """Return a set whose strings lie in intervals: the hull of a language."""
    if isinstance(values.cuts, Cuts):
        return values
    lower, upper = values.cuts.hull()
    return replace(values, cuts=cuts.between(lower, upper, type_))


def _program(conjuncts: Sequence[Expression]) -> Program:
    return compile_predicate(And(tuple(conjuncts)) if len(conjuncts) > 1 else conjuncts[0])


def _narrow(program: Program, column: Column, values: Cuts) -> Cuts:
    """Return the values without parts that hold no match, divided while that leaves out more."""
    if not has_steps(column.type):
        return values
    open_, done = _spans(values, column.type), list[_Span]()
    for _ in range(_ROUNDS_MAX):
        if not open_ or len(open_) > BLOCKS_MAX // 2:
            break
        parts = [part for span in open_ for part in _parts(span, min(PARTS, BLOCKS_MAX // len(open_)))]
        facts = [
            {"min": _value(first, column.type), "max": _value(last, column.type), "null_count": 0}
            for first, last in parts
        ]
        matches = _matches(program, column, facts)
        left = [
            (part, match)
            for part, match in zip(parts, matches, strict=True)
            if match != Match.NONE  # (2)
        ]
        is_final = len(left) == len(parts)
        done += [part for part, match in left if is_final or match == Match.ALL or part[0] == part[1]]
        open_ = [] if is_final else [part for part, match in left if match != Match.ALL and part[0] < part[1]]
    return _of_spans(sorted(done + open_), column.type)


def _matches(program: Program, column: Column, facts: Sequence[Mapping[str, Value | None]]) -> np.ndarray:
    """Return the verdicts on virtual blocks of one row, of which only facts about the column are known."""
    rows = [
        {"file": "", "row_group": place, "row_offset": 0, "row_count": 1, "columns": {column.name: fact}}
        for place, fact in enumerate(facts)
    ]
    schema = block_schema({column.name: column.type})
    verdicts: np.ndarray = classify_blocks(
        program, pa.Table.from_pylist(rows, schema), refined=False
    ).to_numpy()
    return verdicts


def _parts(span: _Span, count: int) -> Iterator[_Span]:
    """Yield consecutive parts of about the same length that hold all values of a span."""
    first, last = span
    length = max(1, -(-(last - first + 1) // count))
    for start in range(first, last + 1, length):
        yield start, min(start + length - 1, last)


def _spans(values: Cuts, type_: Type) -> list[_Span]:
    """Return the intervals of a set as ordinals of values, for a type with steps."""
    least, greatest = _ends(type_)
    return [
        (_ordinal(least if lower is None else lower), _ordinal(greatest if upper is None else upper))
        for lower, upper, _ in closed_ranges(values, type_)
    ]


def _of_spans(spans: list[_Span], type_: Type) -> Cuts:
    """Return the set of the values in ascending spans; spans without a value between them are joined."""
    joined: list[_Span] = []
    for first, last in spans:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    if not joined:
        return cuts.EMPTY
    lowers, uppers = ([_value(span[side], type_) for span in joined] for side in (0, 1))
    lanes = lane_type(type_)
    return as_cuts(Ranges(pa.array(lowers, lanes), pa.array(uppers, lanes)), type_)


def _ends(type_: Type) -> tuple[Value, Value | None]:
    """Return the least and the greatest value of a type; None where there is no greatest one."""
    if type_.kind is Kind.DECIMAL:
        digits = 10**type_.precision - 1
        return decimal_from_units(-digits, type_.scale), decimal_from_units(digits, type_.scale)
    return type_.integer_range or (b"", None)


def _ordinal(value: Value | None) -> int:
    """Return the place of a value in its type, which has steps."""
    assert value is not None
    assert not isinstance(value, bytes)
    return units_and_scale(value)[0] if isinstance(value, Decimal) else int(value)


def _value(ordinal: int, type_: Type) -> Value:
    """Return the value at a place in its type: the inverse of `_ordinal`."""
    return decimal_from_units(ordinal, type_.scale) if type_.kind is Kind.DECIMAL else ordinal
