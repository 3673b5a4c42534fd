"""The texts that Spark's casts parse to a date or a time of a set: an automaton that parses as they do.

White space and control characters around a text are ignored. Then come a sign, a year of 4 digits or
more, a month and a day of 1 or 2; each may be the last. After the day, a date accepts a space or a T and
any text; a time accepts hours, minutes, seconds and a fraction, and after the seconds the name of a zone.
"""

import enum
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.languages import Language, from_automaton
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar
from pruning.rules.time.year_spellings import NO_DIGITS, YearDigits, digit_marks, with_digit

_YEAR_DIGITS_MIN = 4
_FRACTION_DIGITS = 6  # further digits are read and ignored
_TRIMMED = frozenset((*range(0x21), 0x7F))
_SPACE, _T, _DASH, _PLUS, _COLON, _POINT = b" T-+:."


@dataclass(frozen=True, slots=True, kw_only=True)
class SpellingQuery:
    """The texts to accept, by the local time that they spell, in microseconds.

    Attributes:
        plain: The wanted local times, for texts that name no zone.
        zoned: The wanted local times, for texts that name one.
        timed: Whether a time follows the day; otherwise anything may.
        alone: Whether a time without a date is wanted: it is one of the day of the query.
        year_digits: The greatest number of digits of a year.
    """

    plain: Cuts
    zoned: Cuts
    timed: bool
    alone: bool
    year_digits: int


@lru_cache(maxsize=512)
def spellings(wanted: SpellingQuery) -> Language | None:
    """Return the texts that spell a wanted time; None if that takes too many states.

    Claim     A text that Spark's cast makes a date or a time of is in the language if it spells a wanted
              one; if it names no zone, only then.
    Premises  Axiom SPELLING: Spark's casts parse texts as this module's docstring says.
    Proof     (1) A state holds the span of times that can still be spelled: its start if some of them are
                  wanted and some are not, else only whether they are. Each field read narrows it exactly.
              (2) Years without a cut differ in the length of February alone (`year_spellings`).
              (3) The name of a zone is not examined, and a time alone may be of any day; in Spark 3.5
                  white space may come before its T too.
    """
    points = (*wanted.plain.points, *wanted.zoned.points)
    years = {int(calendar.year_of(int(place) // MICROS_PER_DAY)) for place, _ in points}
    reader = _Reader(wanted, digit_marks(years, wanted.year_digits))
    start: _State = _FixedState.START
    return from_automaton(start, reader.step, reader.accepts, byte_classes=_BYTE_CLASSES)


def _byte_classes() -> bytes:
    """Number the bytes so that those which the automaton treats alike have one number."""
    marks = (*b"0123456789", _SPACE, _T, _DASH, _PLUS, _COLON, _POINT)
    others = {byte: number for number, byte in enumerate(marks, 2)}
    return bytes(others.get(byte, int(byte in _TRIMMED)) for byte in range(256))


_BYTE_CLASSES = _byte_classes()


class _FixedState(enum.Enum):
    """The states that do not depend on a date or a time."""

    START = "nothing was read that counts"
    ANYTHING = "whatever follows, the text is in"
    NOTHING = "whatever follows, it is not"


@dataclass(frozen=True, slots=True)
class _Span:
    """The span of times that a text may still spell.

    Attributes:
        start: The first of them; None if all of them are wanted, or none is.
        plain: Whether the first is wanted in a text that names no zone.
        zoned: Whether the first is wanted in a text that names one.
    """

    start: int | None
    plain: bool
    zoned: bool


_OF_TODAY = _Span(None, plain=True, zoned=True)


class _Field(enum.IntEnum):
    """The fields after the year."""

    MONTH, DAY, HOUR, MINUTE, SECOND, FRACTION = range(6)


_FEBRUARY, _SHORT_MONTHS = 2, (4, 6, 9, 11)
_LEAST = (1, 1, 0, 0, 0)
_GREATEST = (12, 31, 23, 59, 59)  # of days, that of the month
_MICROS = (0, MICROS_PER_DAY, 3_600_000_000, 60_000_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class _InYear:
    """The state inside a year's digits; sign 0 means that a time without a date may still come instead."""

    sign: int
    digits: YearDigits = NO_DIGITS


@dataclass(frozen=True, slots=True)
class _InField:
    """The state inside a field after the year; `span` is that of the fields (and fraction digits) before.

    Attributes:
        days: For a month the days of February, for a day the days of its month.
        spaced: Whether a space stands before the field.
    """

    field: _Field
    span: _Span
    digits: int = 0
    value: int = 0
    days: int = 0
    spaced: bool = False


@dataclass(frozen=True, slots=True)
class _FieldEnd:
    """The state after both digits of a field, with the span of it; `days` are those of a month."""

    field: _Field
    span: _Span
    days: int


@dataclass(frozen=True, slots=True)
class _Trailing:
    """The state after a time, in white space that counts only if more follows; and whether that is wanted."""

    plain: bool
    zoned: bool


_State: TypeAlias = _FixedState | _InYear | _InField | _FieldEnd | _Trailing


@dataclass(frozen=True, slots=True)
class _Reader:
    """The automaton of the wanted texts."""

    wanted: SpellingQuery
    marked: tuple[int, ...]

    def accepts(self, state: _State) -> bool:
        """Tell whether a text that ends in this state is wanted."""
        match state:
            case _InYear():
                year = self._year(state)
                return year is not None and year.plain
            case _InField():
                done = self._field_end(state)
                return state.span.plain if _may_be_omitted(state) else done is not None and done.span.plain
            case _FieldEnd():
                return state.span.plain
            case _Trailing():
                return state.plain
        return state is _FixedState.ANYTHING

    def step(self, state: _State, byte: int) -> _State:
        """Return the state after one more byte."""
        digit = byte - 0x30 if 0x30 <= byte <= 0x39 else None
        match state:
            case _InYear():
                return self._in_year(state, byte) if digit is None else self._digit_of_year(state, digit)
            case _InField():
                return self._in_field(state, byte) if digit is None else self._digit(state, digit)
            case _FieldEnd():
                return self._after_field(state, byte) if digit is None else _FixedState.NOTHING
            case _Trailing():
                return state if byte in _TRIMMED else _fixed_state(wanted=state.zoned)
            case _FixedState.ANYTHING | _FixedState.NOTHING:
                return state
        return self._first(byte, digit)

    def _first(self, byte: int, digit: int | None) -> _State:
        """Return the state after the first byte that is not white space, or after white space."""
        unsigned = _InYear(0 if self.wanted.alone else 1)
        if digit is not None:
            return self._digit_of_year(unsigned, digit)
        if byte in _TRIMMED:
            return _FixedState.START
        if byte in (_DASH, _PLUS):
            return _InYear(-1 if byte == _DASH else 1)
        if byte == _T and self.wanted.alone:
            return _InField(_Field.HOUR, _OF_TODAY)  # (3)
        return _FixedState.NOTHING

    def _digit_of_year(self, state: _InYear, digit: int) -> _State:
        """Return the state after one more digit of a year."""
        digits = with_digit(state.digits, digit, self.marked)  # (2)
        following = _InYear(state.sign if digits.count <= 2 else state.sign or 1, digits)
        return following if self._may_be_wanted(following) else _FixedState.NOTHING

    def _may_be_wanted(self, state: _InYear) -> bool:
        """Tell whether a wanted year starts with these digits; refusing others early saves states."""
        digits = state.digits
        fewest, most = max(_YEAR_DIGITS_MIN - digits.count, 0), self.wanted.year_digits - digits.count
        for more in range(fewest, most + 1):
            ends = state.sign * digits.value * 10**more, state.sign * ((digits.value + 1) * 10**more - 1)
            first, after = (int(calendar.year_start(year)) for year in (min(ends), max(ends) + 1))
            span = first * MICROS_PER_DAY, after * MICROS_PER_DAY - 1
            if any(cuts.meets(*span, wanted) for wanted in (self.wanted.plain, self.wanted.zoned)):
                return True
        return state.sign == 0

    def _year(self, state: _InYear) -> _Span | None:
        """Return the span of the year that was read; None if it has too few or too many digits."""
        if not _YEAR_DIGITS_MIN <= state.digits.count <= self.wanted.year_digits:
            return None
        year = (state.sign or 1) * state.digits.value
        return self._of_days(int(calendar.year_start(year)), int(calendar.year_start(year + 1)))

    def _in_year(self, state: _InYear, byte: int) -> _State:
        """Return the state after a byte that ends a year."""
        if byte == _COLON and state.sign == 0 and state.digits.count > 0:
            return _InField(_Field.MINUTE, _OF_TODAY)  # (3)
        year = self._year(state)
        if year is None:
            return _FixedState.NOTHING
        if byte == _DASH:
            return _unless_hopeless(_InField(_Field.MONTH, year, days=state.digits.february))
        return _Trailing(year.plain, zoned=False) if byte in _TRIMMED else _FixedState.NOTHING

    def _digit(self, state: _InField, digit: int) -> _State:
        """Return the state after one more digit of a field."""
        digits, value = state.digits + 1, 10 * state.value + digit
        if state.field is _Field.FRACTION:
            if state.digits == _FRACTION_DIGITS:
                return state
            width = 10 ** (_FRACTION_DIGITS - digits)
            return _InField(state.field, self._narrow(state.span, digit * width, width), digits)
        following = _InField(state.field, state.span, digits, value, state.days)
        if digits < 2:
            return following
        done = self._field_end(following)
        return _FixedState.NOTHING if done is None or done.span == _NO_TIME else done

    def _field_end(self, state: _InField) -> _FieldEnd | None:
        """Return the state in which a field ends here; None where it may not."""
        field, value, start = state.field, state.value, state.span.start
        if field is _Field.FRACTION:
            return _FieldEnd(field, state.span, 0)
        greatest = state.days if field is _Field.DAY else _GREATEST[field]
        if state.digits == 0 or not _LEAST[field] <= value <= greatest:
            return None
        if field is not _Field.MONTH:
            width = _MICROS[field]
            return _FieldEnd(field, self._narrow(state.span, (value - _LEAST[field]) * width, width), 0)
        days = state.days if value == _FEBRUARY else 30 if value in _SHORT_MONTHS else 31
        if start is None:
            return _FieldEnd(field, state.span, days)
        month = int(calendar.month_of(start // MICROS_PER_DAY)) + value - 1
        first, following = int(calendar.month_start(month)), int(calendar.month_start(month + 1))
        return _FieldEnd(field, self._of_days(first, following), days)

    def _in_field(self, state: _InField, byte: int) -> _State:
        """Return the state after a byte that ends a field early, or trailing white space."""
        if byte in _TRIMMED and _may_be_omitted(state):
            return _Trailing(state.span.plain, zoned=False)
        done = self._field_end(state)
        return _FixedState.NOTHING if done is None else self._after_field(done, byte)

    def _after_field(self, done: _FieldEnd, byte: int) -> _State:
        """Return the state after a byte that follows a complete field."""
        field, span = done.field, done.span
        if byte in (_SPACE, _T) and field is _Field.DAY:
            following = _InField(_Field.HOUR, span, spaced=byte == _SPACE)
            return _unless_hopeless(following) if self.wanted.timed else _fixed_state(wanted=span.plain)
        if _BEFORE_NEXT.get(field) == byte:
            return _unless_hopeless(_InField(_Field(field + 1), span, days=done.days))
        zoned = span.zoned and field >= _Field.SECOND
        return _Trailing(span.plain, zoned) if byte in _TRIMMED else _fixed_state(wanted=zoned)

    def _of_days(self, first: int, following: int) -> _Span:
        """Return the span from one day to before another."""
        return self._span(first * MICROS_PER_DAY, following * MICROS_PER_DAY)

    def _narrow(self, span: _Span, offset: int, width: int) -> _Span:
        """Return the part of a span at an offset from its start."""
        if span.start is None:
            return span
        return self._span(span.start + offset, span.start + offset + width)

    def _span(self, start: int, end: int) -> _Span:
        """Return the span of the times from `start` to before `end`."""
        plain, zoned = self.wanted.plain, self.wanted.zoned
        whole = all(times.cuts_below(start) == times.cuts_below(end - 1) for times in (plain, zoned))
        return _Span(None if whole else start, plain=plain.holds(start), zoned=zoned.holds(start))


_NO_TIME = _Span(None, plain=False, zoned=False)
_BEFORE_NEXT = {
    _Field.MONTH: _DASH,
    _Field.HOUR: _COLON,
    _Field.MINUTE: _COLON,
    _Field.SECOND: _POINT,
}


def _may_be_omitted(state: _InField) -> bool:
    """Tell whether the text may end with the day: after a space, hours are optional."""
    return state.spaced and state.digits == 0


def _unless_hopeless(state: _InField) -> _State:
    """Return the state; the one that accepts nothing if none of its times is wanted."""
    return _FixedState.NOTHING if state.span == _NO_TIME else state


def _fixed_state(*, wanted: bool) -> _FixedState:
    """Return the state that accepts everything, or nothing."""
    return _FixedState.ANYTHING if wanted else _FixedState.NOTHING
