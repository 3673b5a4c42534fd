"""Bloom filters of files that are asked wrongly, so that a value is lost; each by one mistake."""

from typing import Any

from mutants.replacements import Replacement
from pruning.expressions.types import Type, Value
from pruning.metadata.footers.physical_types import Physical
from pruning.metadata.index import file_filters
from pruning.metadata.index.encodings import Encoding

_encodings_of, _read_filter = Encoding.of, file_filters._read_filter


def _wide_encoding(element: Any, storage: Any, *, rebased: bool) -> Encoding:
    return Encoding(physical=Physical.INT64)


def _first_encoding(self: Encoding, value: Value, type_: Type) -> tuple[bytes, ...] | None:
    encodings = _encodings_of(self, value, type_)
    return encodings[:1] if encodings else encodings


def _signed_encodings(self: Encoding, value: Value, type_: Type) -> tuple[bytes, ...] | None:
    return () if isinstance(value, int) and value >= 2**31 else _encodings_of(self, value, type_)


WIDER_TYPE = Replacement(file_filters, "encoding_of", _wide_encoding)
ONE_ZERO = Replacement(Encoding, "of", _first_encoding)
SIGNED_FOR_UNSIGNED = Replacement(Encoding, "of", _signed_encodings)


def always_at(offset: int) -> Replacement:
    """Return the mutant that reads each filter of a file at one offset."""
    return Replacement(file_filters, "_read_filter", lambda handle, _: _read_filter(handle, offset))
