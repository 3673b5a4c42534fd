"""Beliefs about footers that are wrong in one way each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.metadata.footers import bounds, evidence, footer_batches, thrift_lanes, trust
from pruning.metadata.footers.chunk_facts import ByteStrings, ChunkFacts
from pruning.metadata.footers.evidence import ColumnTraits, Provenance
from pruning.metadata.footers.frame_files import FrameFiles
from pruning.metadata.footers.frames import FrameParser
from pruning.metadata.footers.physical_types import NumberForm
from pruning.metadata.footers.thrift_lanes import ABSENT, Fields, Mask, NestedField, NumberField, Numbers
from pruning.metadata.footers.trust import DOUBTS, Beliefs
from pruning.metadata.table import believing

# These doubts give a reason for what cannot be decoded, and so is unknown without them too.
REASONS_ONLY = frozenset({"no usable order", "unreadable minimum", "unreadable maximum"})


_beliefs, _origins, _decode_numbers = trust.beliefs, evidence._bound_origins, bounds._numbers
_decode_big, _alike, _parse = bounds._big_words, believing._alike_chunks, FrameParser.parse
_join_groups = thrift_lanes._join_groups


def _with_traits(**changes: bool) -> Callable[..., Beliefs]:
    """Return beliefs that take all columns for columns with these traits."""
    return lambda facts, rows, traits, source: _beliefs(facts, rows, replace(traits, **changes), source)


def _shifted_rows(facts: ChunkFacts, rows: Numbers, traits: ColumnTraits, source: Provenance) -> Beliefs:
    return _beliefs(facts, np.roll(rows, 1), traits, source)


def _exact_of_any_origin(
    facts: ChunkFacts, rows: Numbers, traits: ColumnTraits, source: Provenance
) -> Beliefs:
    believed = _beliefs(facts, rows, traits, source)
    is_exact = pa.array(
        facts.min_exact == 1, mask=(facts.min_exact == ABSENT) | np.asarray(believed.min.is_null())
    )
    return replace(believed, min_exact=is_exact)


def _exact_without_bounds(
    facts: ChunkFacts, rows: Numbers, traits: ColumnTraits, source: Provenance
) -> Beliefs:
    believed = _beliefs(facts, rows, traits, source)
    return replace(believed, max_exact=pa.array(facts.max_exact == 1, mask=facts.max_exact == ABSENT))


def _unknown_is_new(source: Provenance, first: trust._Releases) -> bool:
    release = first.get(source.writer)
    return release is not None and source.release is not None and source.release < release


def _first_is_before(source: Provenance, first: trust._Releases) -> bool:
    release = first.get(source.writer)
    return release is not None and (source.release is None or source.release <= release)


def _prerelease_is_release(source: Provenance, first: trust._Releases) -> bool:
    release = first.get(source.writer)
    return release is not None and (source.release is None or source.release[:3] < release[:3])


def _any_writer(source: Provenance, first: trust._Releases) -> bool:
    return False


def _deprecated_first(facts: ChunkFacts, *, ordered: bool) -> Numbers:
    is_deprecated = facts.deprecated_min.present | facts.deprecated_max.present
    deprecated = evidence._ORIGINS.index(evidence.Origin.DEPRECATED)
    return np.where(is_deprecated, deprecated, _origins(facts, ordered=ordered))


def _all_of_first_writer(parts: Sequence[FrameFiles]) -> Any:
    source = parts[0].frame.source
    return _alike([replace(part, frame=replace(part.frame, source=source)) for part in parts])


def _first_tail(self: FrameParser, schema: bytes, tail: bytes) -> Any:
    """Parse the frame of the first footer with a schema for all of them."""
    for first_schema, first_tail in self._frames:
        if first_schema == schema:
            return self._frames[first_schema, first_tail]
    return _parse(self, schema, tail)


def _without_range(texts: ByteStrings, form: NumberForm, layout: str) -> tuple[pa.Array, Mask]:
    return _decode_numbers(texts, replace(form, low=None, high=None), layout)


def _of_any_size(texts: ByteStrings, form: NumberForm, layout: str) -> tuple[pa.Array, Mask]:
    size = np.dtype(form.layout).itemsize
    return _decode_numbers(replace(texts, sizes=np.where(texts.present, size, ABSENT)), form, layout)


def _signed_numbers(texts: ByteStrings, form: NumberForm, layout: str) -> tuple[pa.Array, Mask]:
    return _decode_numbers(texts, replace(form, layout=form.layout.replace("u", "i")), layout)


def _unsigned_decimals(texts: ByteStrings) -> Any:
    words = _decode_big(texts)
    words[:, 1] &= np.uint64((1 << 63) - 1)
    return words


def _short_numbers(words: Any) -> Numbers:
    return _join_groups(words) & ((1 << 14) - 1)


def _fields(meta: Fields | None = None, statistics: Fields | None = None) -> Fields:
    """Return the layout of a chunk with some fields of its metadata or its statistics replaced."""
    inner = {**footer_batches._META, 12: NestedField({**footer_batches._STATISTICS, **(statistics or {})})}
    return {**footer_batches._CHUNK, 3: NestedField({**inner, **(meta or {})})}


_OF = footer_batches._STATISTICS

MUTANTS: Mapping[str, Replacement] = {
    **{
        f"without {doubt.name}": Replacement(
            trust, "DOUBTS", tuple(other for other in DOUBTS if other is not doubt)
        )
        for doubt in DOUBTS
        if doubt.name not in REASONS_ONLY
    },
    # A writer without a version is believed.
    "unknown is new": Replacement(trust, "_is_release_before", _unknown_is_new),
    # The first good version is doubted.
    "first is before": Replacement(trust, "_is_release_before", _first_is_before),
    # A pre-release is as good as its release.
    "pre-release is release": Replacement(trust, "_is_release_before", _prerelease_is_release),
    # Versions are not compared.
    "any version": Replacement(trust, "_is_release_before", _any_writer),
    # Bounds are believed in a file that names no order.
    "order ignored": Replacement(
        evidence, "_bound_origins", lambda facts, *, ordered: _origins(facts, ordered=True)
    ),
    # The deprecated bounds win.
    "deprecated first": Replacement(evidence, "_bound_origins", _deprecated_first),
    # Old dates are believed.
    "never rebased": Replacement(evidence, "_may_be_rebased", lambda keys: False),
    # The column's order is ignored.
    "all ordered": Replacement(believing, "beliefs", _with_traits(ordered=True)),
    # A required column may hold NULL.
    "none required": Replacement(believing, "beliefs", _with_traits(required=False)),
    # A field is never NULL because its struct is.
    "none inherits": Replacement(believing, "beliefs", _with_traits(inherits=False)),
    # Elements count as rows.
    "none repeated": Replacement(believing, "beliefs", _with_traits(repeated=False)),
    # The numbers of rows are those of the row group before.
    "rows shifted": Replacement(believing, "beliefs", _shifted_rows),
    # Deprecated bounds are exact.
    "exact of any origin": Replacement(believing, "beliefs", _exact_of_any_origin),
    # Unknown bounds are exact.
    "exact without bounds": Replacement(believing, "beliefs", _exact_without_bounds),
    # All files have the first one's writer.
    "one writer": Replacement(believing, "_alike_chunks", _all_of_first_writer),
    # All files of a schema have the first one's frame.
    "one tail": Replacement(FrameParser, "parse", _first_tail),
    # Numbers outside of the type are read.
    "no range": Replacement(bounds, "_numbers", _without_range),
    # Numbers of any size are read.
    "any size": Replacement(bounds, "_numbers", _of_any_size),
    # Unsigned numbers are read as signed.
    "signed numbers": Replacement(bounds, "_numbers", _signed_numbers),
    # Decimals have no sign.
    "unsigned decimals": Replacement(bounds, "_big_words", _unsigned_decimals),
    # Decimals may have too many digits.
    "any digits": Replacement(bounds, "_is_below", lambda words, limit: words[:, 0] >= 0),
    # Texts need not be UTF-8.
    "any text": Replacement(bounds, "_is_utf8", lambda array: np.ones(len(array), np.bool_)),
    # Numbers have 14 bits.
    "short numbers": Replacement(thrift_lanes, "_join_groups", _short_numbers),
    # Minima and maxima are swapped.
    "sides swapped": Replacement(footer_batches, "_CHUNK", _fields(statistics={5: _OF[6], 6: _OF[5]})),
    # The deprecated bounds are read as the newer ones.
    "deprecated are new": Replacement(
        footer_batches, "_CHUNK", _fields(statistics={1: _OF[5], 2: _OF[6], 5: _OF[1], 6: _OF[2]})
    ),
    # Exactness is that of the other bound.
    "exactness swapped": Replacement(footer_batches, "_CHUNK", _fields(statistics={7: _OF[8], 8: _OF[7]})),
    # The field before that with the compressed bytes is read.
    "uncompressed size": Replacement(
        footer_batches,
        "_CHUNK",
        _fields(
            meta={
                6: NumberField("byte_count", thrift_lanes.I64),
                7: NumberField("uncompressed", thrift_lanes.I64),
            }
        ),
    ),
    # Types and paths of chunks are not compared with the schema.
    "any schema": Replacement(
        footer_batches._Batch, "_fitting_groups", lambda self, layout, groups: np.ones(len(groups), np.bool_)
    ),
}

# These believe a guess about the places of chunks without a proof.
GUESSING_MUTANTS: Mapping[str, Replacement] = {
    # A chunk may begin anywhere after the one before it.
    "chunks unproved": Replacement(
        footer_batches._Batch,
        "_regular_chunks",
        lambda self, starts, ends, last_chunks: ~self._chunks.irregular,
    ),
    # A row group may begin anywhere after the one before it.
    "row groups unproved": Replacement(
        footer_batches._Batch, "_regular_groups", lambda self, starts: ~self._groups.irregular
    ),
}
