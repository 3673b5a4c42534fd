"""The classes of bugs by the cells of a column: odd ones are taken away by plain ones in their place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import copysign
from typing import TypeAlias

from skipproof.stand.hunt.reach.scenes import Scene
from skipproof.stand.hunt.reach.terms import calls_of, columns_under, with_terms
from skipproof.stand.reference.statistics import BOUND_CHARACTERS_MAX
from skipproof.stand.reference.values import Nan, Value, from_json, is_integer
from strategies.engines.engine_values import integer_range, values
from strategies.engines.questions import Json

_PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
# Seconds since 1970 that 32 bits without a sign count.
_SECONDS_MAX = 2**32

# Tells whether a cell of a type, which is not NULL, has a property.
_IsOdd: TypeAlias = Callable[[Value, str], bool]


@dataclass(frozen=True, slots=True)
class DataClass:
    """A property of a column in a scene.

    Attributes:
        is_present: Tells whether the column has it.
        without: Returns the scene in which the column does not have it.
        baseline: Returns the scene that is compared; without what decides the same as the property.
        depends_on_question: Whether the question counts too, and not only the tables and settings.
    """

    is_present: Callable[[Scene, str], bool]
    without: Callable[[Scene, str], Scene]
    baseline: Callable[[Scene, str], Scene] | None = None
    depends_on_question: bool = False


def _is_nan(cell: Value, type_: str) -> bool:
    return isinstance(cell, Nan)


def _is_negative_zero(cell: Value, type_: str) -> bool:
    return _is_zero(cell, type_) and copysign(1, cell) < 0


def _is_zero(cell: Value, type_: str) -> bool:
    return type_.startswith("float") and bool(cell == 0)


def _is_odd_text(cell: Value, type_: str) -> bool:
    return type_ == "string" and not (cell.isascii() and cell.isalnum())


def _is_odd_time(cell: Value, type_: str) -> bool:
    if not type_.startswith("timestamp"):
        return False
    per_ms = _units_per_ms(type_)
    return bool(cell < 0 or cell % per_ms or cell >= _SECONDS_MAX * 1_000 * per_ms)


def _units_per_ms(type_: str) -> int:
    """Return the number of a timestamp's units in a millisecond."""
    return _PER_MS[type_[len("timestamp(") :][:2]]


def _is_odd_decimal(cell: Value, type_: str) -> bool:
    if not type_.startswith("decimal"):
        return False
    precision = int(type_[len("decimal(") :].partition(",")[0])
    return bool(cell < 0 or len(Decimal(cell).as_tuple().digits) == precision)


def _is_at_limit(cell: Value, type_: str) -> bool:
    if not is_integer(type_) or cell == 0:
        return False
    low, high = integer_range(type_)
    return not low < cell < high


def _is_above_signed(cell: Value, type_: str) -> bool:
    return type_.startswith("uint") and cell > integer_range(type_)[1] // 2


def is_misjudged(cell: Value, type_: str) -> bool:
    """Tell whether writers have got the statistics of such a cell wrong."""
    if isinstance(cell, str | bytes):
        return not cell.isascii()
    if type_.startswith("decimal"):
        return bool(cell < 0)
    return _is_above_signed(cell, type_) or _is_negative_zero(cell, type_)


def has_some(cells: Sequence[Value], type_: str, is_odd: _IsOdd) -> bool:
    """Tell whether some cell that is not NULL has a property."""
    return any(cell is not None and is_odd(cell, type_) for cell in cells)


def of_cells(is_odd: _IsOdd, is_alike: _IsOdd | None = None) -> DataClass:
    """Return the class of columns with odd cells.

    Args:
        is_alike: The property that plain cells may not have either; the same by default.
    """
    alike = is_alike or is_odd

    def is_present(scene: Scene, column: str) -> bool:
        type_ = scene.type_of(column)
        return any(has_some(cells, type_, is_odd) for cells in scene.cells(column))

    def without(scene: Scene, column: str) -> Scene:
        type_ = scene.type_of(column)
        return with_plain_cells(
            scene,
            column,
            lambda cell: cell is not None and is_odd(cell, type_),
            lambda cell: cell is not None and not alike(cell, type_),
        )

    return DataClass(is_present, without)


def with_plain_cells(
    scene: Scene, column: str, is_odd: Callable[[Value], bool], is_plain: Callable[[Value], bool]
) -> Scene:
    """Return the scene with plain cells for the odd ones of a column.

    A plain cell is the first of the same row group, or else of the column, or else the simplest value.
    """
    type_ = scene.type_of(column)
    elsewhere = [cell for cells in scene.cells(column) for cell in cells if is_plain(cell)][:1]
    simplest = [value for value in (from_json(value, type_) for value in values(type_)) if is_plain(value)][
        :1
    ]

    def change(cells: Sequence[Value]) -> Sequence[Value]:
        plain = next((cell for cell in cells if is_plain(cell)), None)
        others = [plain] if plain is not None else elsewhere or simplest
        return [others[0] if others and is_odd(cell) else cell for cell in cells]

    return scene.with_cells(column, change)


def _mixes_nulls(cells: Sequence[Value]) -> bool:
    return None in cells and any(cell is not None for cell in cells)


def _is_all_null(cells: Sequence[Value]) -> bool:
    return bool(cells) and all(cell is None for cell in cells)


def of_nulls(is_concerned: Callable[[Sequence[Value]], bool]) -> DataClass:
    """Return the class of columns with NULL in row groups of some kind."""

    def is_present(scene: Scene, column: str) -> bool:
        return any(map(is_concerned, scene.cells(column)))

    def without(scene: Scene, column: str) -> Scene:
        full = with_plain_cells(scene, column, lambda cell: cell is None, lambda cell: cell is not None)
        name = scene.table_of(column)
        position = scene.tables[name].schema[column][0]
        pairs = zip(scene.tables[name].groups, full.tables[name].groups, strict=True)
        return scene.with_table(
            name, [new if is_concerned([row[position] for row in old.rows]) else old for old, new in pairs]
        )

    return DataClass(is_present, without)


def _shorten(cell: Value, type_: str) -> Value:
    """Return a cell without what truncated bounds leave out: characters, or parts of a millisecond."""
    if isinstance(cell, str | bytes):
        return cell[:BOUND_CHARACTERS_MAX]
    if cell is None or not type_.startswith("timestamp"):
        return cell
    return cell - cell % _units_per_ms(type_)


def _is_truncated(scene: Scene, column: str) -> bool:
    type_ = scene.type_of(column)
    return any(has_some(cells, type_, _is_long) for cells in scene.cells(column))


def _is_long(cell: Value, type_: str) -> bool:
    return bool(_shorten(cell, type_) != cell)


def _without_truncation(scene: Scene, column: str) -> Scene:
    type_ = scene.type_of(column)

    def change(cells: Sequence[Value]) -> Sequence[Value]:
        return [
            cell if cell is None or not _is_long(cell, type_) else _shorten(cell, type_) for cell in cells
        ]

    return scene.with_cells(column, change)


def _has_limit_literal(call: Json, scene: Scene, column: str) -> bool:
    """Tell whether a call compares a column with a literal at the limits of its type or beyond."""
    type_ = scene.type_of(column)
    literals = [part for part in call["of"] if _is_limit_literal(part, type_)]
    return bool(literals) and column in columns_under(call["of"][0], scene.question)


def _is_limit_literal(term: Json, type_: str) -> bool:
    value = term.get("literal")
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and is_integer(term["type"]) and _is_at_limit(value, type_)


_LIMIT_CELLS = of_cells(_is_at_limit)


def _has_limits(scene: Scene, column: str) -> bool:
    literals = (_has_limit_literal(call, scene, column) for call in calls_of(scene.question))
    return _LIMIT_CELLS.is_present(scene, column) or any(literals)


def _without_limits(scene: Scene, column: str) -> Scene:
    type_ = scene.type_of(column)

    def plain(term: Json) -> Json:
        return term | {"literal": values(type_)[0]} if _is_limit_literal(term, type_) else term

    def change(term: Json) -> Json:
        if not _has_limit_literal(term, scene, column):
            return term
        return term | {"of": [plain(part) for part in term["of"]]}

    question = with_terms(scene.question, change)
    return replace(_LIMIT_CELLS.without(scene, column), question=question)


NAN = of_cells(_is_nan)
NEGZERO = of_cells(_is_negative_zero, _is_zero)
STR = of_cells(_is_odd_text)
TS = of_cells(_is_odd_time)
DECIMAL = of_cells(_is_odd_decimal)
UINT = of_cells(_is_above_signed)
TRUNC = DataClass(_is_truncated, _without_truncation)
OVERFLOW = DataClass(_has_limits, _without_limits, depends_on_question=True)
NULLS = of_nulls(_mixes_nulls)
ALLNULL = of_nulls(_is_all_null)
