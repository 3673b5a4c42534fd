"""The ranges of functions in the small engine hold every value of the function, also at the ends of types."""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

import pytest

from mutants.small_engine import functions
from mutants.small_engine.mutating import Mutant
from skipproof.stand.reference.evaluating import compile_term, conjunction, disjunction
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.ranges import FALSE, NULL, TRUE
from skipproof.stand.reference.statistics import WIDTH_INTEGER, Facts
from skipproof.stand.reference.tables import Partition
from skipproof.stand.reference.values import Value, from_json
from strategies.engines.engine_values import integer_range, values
from strategies.engines.questions import Json

TYPES = ("int8", "uint8", "int64", "float32", "float64", "string", "date", "timestamp(ms)", "timestamp(us)")
TEXTS = ("a", "B", "b", "A", "", "ab", "Ab", "zzz", "\ud7ff", "\U0001f600")
MICROSECONDS = (0, -1, 1_577_836_800_000_001, 1_590_000_000_000_000, -2_208_988_800_000_001)
MUTANTS = [member for member in vars(functions).values() if isinstance(member, Mutant)]


def number(value: int) -> Json:
    return {"literal": value, "type": "int32"}


def calls(type_: str) -> Iterator[Json]:
    """Yield calls of one column of a type and of constants."""
    column, first = {"column": "a"}, {"literal": cells(type_)[0], "type": type_}
    yield from ({"call": name, "of": [column, first]} for name in ("nullif", "coalesce"))
    if type_ == "string":
        yield from ({"call": name, "of": [column]} for name in ("lower", "upper", "length"))
        for start, count in ((1, 2), (2, 2), (1, 0), (3, 16)):
            yield {"call": "substring", "of": [column, number(start), number(count)]}
    elif "float" in type_:
        yield from ({"call": name, "of": [column]} for name in ("negate", "abs"))
        constants = [{"literal": value, "type": type_} for value in (0.5, 2.0, 3.0, -1.0)]
        yield from ({"call": name, "of": [column, by]} for name in ("+", "-", "*", "/") for by in constants)
    elif "int" in type_:
        yield from ({"call": name, "of": [column]} for name in ("negate", "abs"))
        constants = [{"literal": value, "type": type_} for value in (1, 2, 3, 10, 0)]
        yield from ({"call": name, "of": [column, by]} for name in ("//", "%") for by in constants)
        yield from ({"call": name, "of": [column, number(2)]} for name in (">>", "<<"))
    else:
        yield from ({"call": name, "of": [column]} for name in ("year", "month", "day"))
        if type_ != "date":
            yield from ({"call": f"truncate to {unit}", "of": [column]} for unit in ("year", "month", "day"))
            yield {"call": "cast", "of": [column], "type": "date"}


def cells(type_: str) -> list[Value]:
    """Return some values of a type, with the least and the greatest integer."""
    if type_ == "string":
        return list(TEXTS)
    if "float" in type_:
        special = (from_json(text, type_) for text in ("-Infinity", "Infinity", "NaN"))
        return [-1.0, -0.0, 0.0, 0.5, 2.0**100, *special]
    if "int" in type_:
        low, high = integer_range(type_)
        return sorted({low, low + 1, max(low, -3), 0, 1, 5, high})
    if type_ == "date":
        return [from_json(value, type_) for value in values(type_)[:8]]
    return [value // (1 if type_ == "timestamp(us)" else 1_000) for value in MICROSECONDS]


def outside(rules: Rules, term: Json, type_: str, some: Sequence[Value]) -> str:
    """Return what a range of a function lacks of the function's values on some cells; empty if nothing."""
    facts: Facts = rules.count_cells(type_, some)
    evaluate: Any = compile_term(term, {"a": (0, type_)})
    range_ = rules.range_of(term, lambda name: facts)
    results = [evaluate((cell,)) for cell in some]
    present = [result for result in results if result is not None]
    is_right = (
        (range_.nulls or None not in results)
        and (range_.lower is None or all(range_.lower <= result for result in present))
        and (range_.upper is None or all(result <= range_.upper for result in present))
        and (not range_.exact or (range_.lower, range_.upper) == (min(present), max(present)))
    )
    return "" if is_right else f"{term} of {some}: {results} in {range_}"


def errors(rules: Rules, type_: str) -> list[str]:
    """Return the errors of the ranges of all functions of a type, over two and three cells."""
    several = [*combinations(cells(type_), 2), *combinations([*cells(type_), None], 3)]
    every = [outside(rules, term, type_, some) for term in calls(type_) for some in several]
    return [error for error in every if error]


@pytest.mark.parametrize("type_", TYPES)
def test_a_range_of_a_function_holds_all_its_values(type_: str) -> None:
    assert errors(Rules(), type_) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_has_a_range_without_some_value(mutant: Mutant) -> None:
    rules = mutant.engine().rules
    assert any(errors(rules, type_) for type_ in TYPES)


def test_ranges_of_functions_have_bounds() -> None:
    """Without bounds, a range would hold all values, and nothing would be pruned."""
    facts = Rules().count_cells("int8", [-5, -3])
    ranges = {
        name: Rules().range_of({"call": name, "of": [{"column": "a"}, *others]}, lambda _: facts)
        for name, others in (("negate", []), ("abs", []), ("//", [number(2)]), (">>", [number(1)]))
    }
    bounds = {name: (range_.lower, range_.upper) for name, range_ in ranges.items()}
    assert bounds == {"negate": (3, 5), "abs": (3, 5), "//": (-2, -1), ">>": (-3, -2)}


class BoundsBeyondTheType(Rules):
    """A mutant whose bounds of a partition may be no values of the type."""

    def truncated_bounds(self, value: Value, type_: str) -> tuple[Value, Value]:
        return value, value + WIDTH_INTEGER - 1


def quotient_outside(rules: Rules, cell: int) -> bool:
    """Tell whether the range of a quotient lacks that of a cell of int8, from the cell's partition."""
    term = {"call": "//", "of": [{"column": "a"}, {"literal": 1, "type": "int8"}]}
    partition = Partition("truncate", rules.partition_value("truncate", cell, "int8"))
    facts = rules.partition_facts(Facts(type="int8", rows=1, partition=partition), partition)
    range_ = rules.range_of(term, lambda name: facts)
    return not range_.lower <= cell <= range_.upper


@pytest.mark.parametrize("cell", [-128, -1, 0, 127])
def test_a_partition_at_the_end_of_a_type_has_bounds_of_the_type(cell: int) -> None:
    """The least multiple of 10 below -128 is no int8; a function of it would wrap around."""
    assert not quotient_outside(Rules(), cell)


@pytest.mark.parametrize("cell", [-128, 127])
def test_bounds_beyond_the_type_are_convicted(cell: int) -> None:
    assert quotient_outside(BoundsBeyondTheType(), cell)


@pytest.mark.parametrize("name", ["and", "or"])
def test_truths_of_many_operands_are_those_of_every_choice(name: str) -> None:
    """A list of 200 members is an OR of as many tests, each of which may be true, false or NULL."""
    combine = conjunction if name == "and" else disjunction
    bits = {True: TRUE, False: FALSE, None: NULL}
    for operands in product(range(1, 8), repeat=3):
        choices = [[truth for truth, bit in bits.items() if bit & operand] for operand in operands]
        every = {bits[combine(*choice)] for choice in product(*choices)}
        assert Rules().combine_truths(name, operands) == sum(every)
    assert Rules().combine_truths(name, [TRUE | FALSE | NULL] * 200) == TRUE | FALSE | NULL
