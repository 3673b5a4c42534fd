"""Belief in the bounds of a field in Delta's log."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind
from pruning.metadata.delta.columns import DeltaField
from pruning.metadata.delta.statistics import FieldStatistics
from pruning.metadata.footers.chunk_facts import without
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.footers.trust import SHIFTS
from pruning.metadata.table.ordered import true_lanes, without_crossed
from pruning.metadata.table.schema import arrow_type
from pruning.rules.sets.primitives import prefix_end

# Statistics have times in whole milliseconds.
_LOST_US = 999
_INT64_MAX = (1 << 63) - 1
# U+FFFD stands for bytes that are no UTF-8. It, U+FFFF and the last character of Unicode stand behind a text
# that was cut, for all that may follow.
_STAND_INS = "\ufffd\ufffe\uffff\U0010ffff"
# A text of so many characters may have been cut.
_CUT_LENGTH = 32


def believed_bounds(statistics: FieldStatistics, field: DeltaField) -> tuple[pa.Array, pa.Array]:
    """Return the least and the greatest value that a field may have in each file; shape (files,).

    Claim     Each value that is neither NULL nor NaN lies between the two, where they are not NULL.
    Premises  Delta's protocol: statistics are at most and at least each value of the file, but that texts may
              be cut, an upper one being raised, and times lose what is below a millisecond.
    Proof     (1) A bound that cannot be read may be of another type than the other one.
              (2) A writer that lets NaN into one bound may have compared it with values, so that the other
              bound is no bound: both are dropped.
              (3) A time is less than a millisecond from its bound, on either side before 1970.
              (4) Texts are bounded as `_lowest_texts` and `_highest_texts` say.
              (5) Spark may read old dates by another calendar, and move them by less than what is added.
              (6) Bounds that cross are of no file.
    Unsound   if either is taken for a value that a row has.
    """
    lower, upper = statistics.lower, statistics.upper
    if field.was_float or field.is_padded or field.type.kind is Kind.BINARY:
        nothing = pa.nulls(len(lower), arrow_type(field.type))
        return nothing, nothing
    dropped = statistics.is_garbled  # (1)
    if field.type.floating:
        dropped = dropped | _has_nan(lower, upper)  # (2)
    lower, upper = without(lower, dropped), without(upper, dropped)
    lower, upper = without_crossed(lower, upper)  # (6)
    if field.type.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        lower, upper = _lowest_times(lower), _highest_times(upper)  # (3)
    if field.type.kind is Kind.STRING:
        lower, upper = _lowest_texts(lower), _highest_texts(upper)  # (4)
    if field.type in SHIFTS:
        lower, upper = _bounds_in_either_calendar(lower, upper, field)  # (5)
    return lower, upper


def _has_nan(lower: pa.Array, upper: pa.Array) -> Mask:
    mask: Mask = true_lanes(pc.is_nan(lower)) | true_lanes(pc.is_nan(upper))
    return mask


def _lowest_times(times: pa.Array) -> pa.Array:
    """Return lower bounds of times from those in whole milliseconds, rounded up only up to 1970."""
    numbers, start = times.cast(pa.int64()), _LOST_US - _INT64_MAX
    lowered = pc.subtract(pc.if_else(pc.less(numbers, start), start, numbers), _LOST_US)
    return pc.if_else(pc.less_equal(numbers, 0), lowered, numbers).cast(times.type)


def _highest_times(times: pa.Array) -> pa.Array:
    """Return upper bounds of times from those in whole milliseconds."""
    numbers = times.cast(pa.int64())
    end = _INT64_MAX - _LOST_US
    highest = pc.add(pc.if_else(pc.greater(numbers, end), end, numbers), _LOST_US)
    return highest.cast(times.type)


def _lowest_texts(texts: pa.Array) -> pa.Array:
    """Return lower bounds of texts.

    Claim     Each is at most the text that the statistics are of, whatever bytes this has.
    Proof     It ends before the first character that may stand for other bytes, and a prefix of a text is at
              most the text.
    """
    return _replace_texts(texts, _has_stand_in(texts), _plain_prefix)


def _highest_texts(texts: pa.Array) -> pa.Array:
    """Return upper bounds of texts.

    Claim     Each is at least each text of the file, whatever bytes this has.
    Premises  An upper bound is the greatest text, in which U+FFFD may stand for other bytes, or a prefix of
              this; a prefix of less than 32 characters has a last character for all that may follow.
    Proof     (1) The part before such a character is a prefix of the greatest text.
              (2) What is above all that begin with a prefix of the greatest text is above this text.
    Unsound   if such a character were taken as itself, because the bytes that it stands for may be above it;
              or a text that was cut were taken as a whole one.
    """
    may_be_cut = true_lanes(pc.greater_equal(pc.utf8_length(texts), _CUT_LENGTH))
    return _replace_texts(texts, _has_stand_in(texts) | may_be_cut, _text_above)


def _has_stand_in(texts: pa.Array) -> Mask:
    return true_lanes(pc.match_substring_regex(texts, f"[{_STAND_INS}]"))


def _plain_prefix(text: str) -> str:
    return text[: min((place for place in map(text.find, _STAND_INS) if place >= 0), default=len(text))]


def _text_above(text: str) -> str | None:
    """Return a text above all that begin with the plain prefix of a text; None if none is at hand."""
    # Java writes a question mark for half of a pair of characters that was cut.
    prefix = _plain_prefix(text).rstrip("?")  # (1)
    end = prefix_end(prefix.encode())  # (2)
    try:
        return None if end is None else end.decode()
    except UnicodeDecodeError:
        return None


def _replace_texts(texts: pa.Array, mask: Mask, change: Callable[[str], str | None]) -> pa.Array:
    """Return texts that are changed where the mask is true."""
    if not mask.any():
        return texts
    changed = [change(text) for text in texts.filter(pa.array(mask)).to_pylist()]
    return pc.replace_with_mask(texts, pa.array(mask), pa.array(changed, texts.type))


def _bounds_in_either_calendar(
    lower: pa.Array, upper: pa.Array, field: DeltaField
) -> tuple[pa.Array, pa.Array]:
    """Return bounds of dates or times that hold although Spark may read old ones by another calendar."""
    first_unshifted, reach = SHIFTS[field.type]
    stored = pa.int32() if field.type.kind is Kind.DATE else pa.int64()
    is_old = ~true_lanes(pc.greater_equal(lower.cast(stored), first_unshifted))
    is_exceeded = is_old & ~true_lanes(pc.greater_equal(upper.cast(stored), first_unshifted + reach))
    return without(lower, is_old), without(upper, is_exceeded)
