"""Spellings of dates and times that are wrong in one way each: an attribute, and a wrong value for it."""

from collections.abc import Mapping

from mutants.replacements import Replacement
from pruning.expressions.types import DATE, TIMESTAMP, TIMESTAMP_NTZ
from pruning.rules.time import date_spellings, text_casts

_HOUR_US = 3_600_000_000

MUTANTS: Mapping[str, Replacement] = {
    "spaces alone do not count": Replacement(date_spellings, "_TRIMMED", frozenset(b" ")),
    "years have 5 digits at least": Replacement(date_spellings, "_YEAR_DIGITS_MIN", 5),
    "months from 0 on": Replacement(date_spellings, "_LEAST", (0, 1, 0, 0, 0)),
    "no month has 31 days": Replacement(date_spellings, "_SHORT_MONTHS", tuple(range(1, 13))),
    "hours up to 22": Replacement(date_spellings, "_GREATEST", (12, 31, 22, 59, 59)),
    "fractions of 5 digits": Replacement(date_spellings, "_FRACTION_DIGITS", 5),
    "dates of 6 digits": Replacement(
        text_casts, "_YEAR_DIGITS", {DATE.kind: 6, TIMESTAMP.kind: 6, TIMESTAMP_NTZ.kind: 6}
    ),
    "zones up to 17 hours": Replacement(text_casts, "ZONE_OFFSET_MICROS_MAX", 17 * _HOUR_US),
    "years that do not fit are read": Replacement(text_casts, "_SURE_YEARS", 9_999_999),
    "a time alone is none": Replacement(date_spellings, "_OF_TODAY", date_spellings._NO_TIME),
}
