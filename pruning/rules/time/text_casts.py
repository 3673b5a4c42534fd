"""CAST of text to dates and times: preimages, by the texts that spell a time (`date_spellings`)."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Cast, Expression, Mode, type_of
from pruning.expressions.types import DATE, STRING, TIMESTAMP, Kind, Type
from pruning.rules.sets import cuts, value_sets
from pruning.rules.sets.cuts import EMPTY, FULL, Cuts
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.sets.primitives import MICROS_PER_DAY, ZONE_OFFSET_MICROS_MAX
from pruning.rules.sets.value_sets import Values
from pruning.rules.time import calendar
from pruning.rules.time.date_spellings import SpellingQuery, spellings
from pruning.rules.time.step_preimages import preimage
from pruning.rules.time.steps import Action, Step
from pruning.rules.time.zones import zone

_CUTS_MAX = 64  # a set of more cuts is widened to the interval around it
_TIMED_CUTS_MAX = 16  # a set of more cuts is widened to whole days
# Years up to this one parse in every release and fit in every zone; then the most digits of a year.
_SURE_YEARS = 200_000
_YEAR_DIGITS = {Kind.DATE: 7, Kind.TIMESTAMP: 6, Kind.TIMESTAMP_NTZ: 6}

_Move: TypeAlias = Callable[[int], int]


def is_text_to_time(node: Cast) -> bool:
    """Tell whether it is a cast of text to a date or a time whose text differs by row.

    In constants Spark also accepts words such as `epoch` and `today`.
    """
    reads = type_of(node.operand) == STRING and node.type.kind in _YEAR_DIGITS
    return reads and bool(columns(node.operand))


def text_preimage(node: Cast, values: ValueSet) -> tuple[Expression, ValueSet]:
    """Return the texts whose date or time is in a set.

    Claim     A row on which the cast's value is in the set has its text in the result.
    Premises  Axiom SPELLING (`date_spellings`); no zone is further than 18 hours from UTC (axiom ZONE).
    Proof     (1) A local time is wanted where its instant in the session's zone is in the set; where a
                  text names its own zone, or the session's is not known, within 18 hours of one that is.
              (2) NULL comes of NULL; and, but under ANSI, which raises, of texts that are not surely read.
    """
    texts = _texts(node, values.cuts)  # (1)
    if values.null and node.mode is not Mode.ANSI:
        texts = value_sets.union(texts, _doubtful_texts(node.type))  # (2)
    return node.operand, ValueSet(texts, null=values.null)


def _texts(node: Cast, wanted: Values) -> Values:
    """Return the texts that spell a time of a set, widened if that takes too many states."""
    if wanted.empty:
        return EMPTY
    assert isinstance(wanted, Cuts)
    if len(wanted.points) <= _CUTS_MAX:
        query = _spelling_query(node.type, node.zone, wanted)
        exact = spellings(query) if len(wanted.points) <= _TIMED_CUTS_MAX else None
        language = exact or spellings(_whole_days(query))
        if language is not None:
            return language
    around = cuts.between(*wanted.hull(), node.type)
    return spellings(_spelling_query(node.type, node.zone, around)) or FULL


def _whole_days(query: SpellingQuery) -> SpellingQuery:
    """Return the query widened to whole days."""
    plain, zoned = (_widen(times, _day_start, _day_end) for times in (query.plain, query.zoned))
    return replace(query, plain=plain, zoned=zoned)


def _spelling_query(type_: Type, name: str, wanted: Cuts) -> SpellingQuery:
    """Return the query for the texts whose cast to a type is in a set."""
    plain = zoned = wanted
    if type_ == DATE:
        plain = zoned = preimage(Step(Action.INDEX, MICROS_PER_DAY), wanted)
    elif type_ == TIMESTAMP:
        zoned = _widen(wanted, _earlier, _later)
        plain = preimage(Step(Action.INSTANT, zone=name), wanted) if zone(name) else zoned
    return SpellingQuery(
        plain=plain,
        zoned=zoned,
        timed=type_ != DATE,
        alone=type_ == TIMESTAMP,
        year_digits=_YEAR_DIGITS[type_.kind],
    )


def _widen(wanted: Cuts, lower: _Move, upper: _Move) -> Cuts:
    """Move the start of each interval down and its end up by the given functions."""
    widest = EMPTY
    for start, end in wanted.intervals():
        after = FULL if start is None else Cuts(False, ((lower(int(start[0])), False),))
        before = FULL if end is None else Cuts(True, ((upper(int(end[0])), False),))
        widest = cuts.union(widest, cuts.intersection(after, before))
    return widest


def _earlier(place: int) -> int:
    """Return the place moved down by the greatest offset of a zone."""
    return place - ZONE_OFFSET_MICROS_MAX


def _later(place: int) -> int:
    """Return the place moved up by the greatest offset of a zone."""
    return place + ZONE_OFFSET_MICROS_MAX


def _day_start(place: int) -> int:
    """Return the start of a day."""
    return place // MICROS_PER_DAY * MICROS_PER_DAY


def _day_end(place: int) -> int:
    """Return the end of a day."""
    return -_day_start(-place)


def _doubtful_texts(type_: Type) -> Values:
    """Return the texts that may fail to parse; those that surely parse name no zone."""
    ends = (int(calendar.year_start(year)) * MICROS_PER_DAY for year in (-_SURE_YEARS, _SURE_YEARS))
    sure = SpellingQuery(
        plain=Cuts(False, tuple((end, False) for end in ends)),
        zoned=EMPTY,
        timed=type_ != DATE,
        alone=False,
        year_digits=_YEAR_DIGITS[type_.kind],
    )
    read = spellings(sure)
    return FULL if read is None else read.complement()
