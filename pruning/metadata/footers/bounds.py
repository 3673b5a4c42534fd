"""The decoding of the bounds of many column chunks at once."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pruning.expressions.types import Kind, Type
from pruning.metadata.footers.chunk_facts import ByteStrings, without
from pruning.metadata.footers.physical_types import (
    BooleanForm,
    BytesForm,
    ColumnStorage,
    DecimalForm,
    NumberForm,
)
from pruning.metadata.footers.thrift_lanes import Mask

# The layout of decoded numbers, by the kind of their type.
_LAYOUTS = {
    Kind.BYTE: "i1",
    Kind.SHORT: "i2",
    Kind.INTEGER: "i4",
    Kind.LONG: "i8",
    Kind.FLOAT: "f4",
    Kind.DOUBLE: "f8",
    Kind.DATE: "i4",
    Kind.TIMESTAMP: "i8",
    Kind.TIMESTAMP_NTZ: "i8",
}
_DECIMAL_BYTES = 16
_Words = npt.NDArray[np.uint64]


def decode(texts: ByteStrings, storage: ColumnStorage) -> tuple[pa.Array, Mask]:
    """Decode bounds; also return the lanes with bytes that cannot be a bound of the type.

    Returns:
        An array that is NULL where there is no bound or it cannot be decoded. Dates and instants are
        integers, strings are binary, and all else has the type of block metadata.
    """
    form = storage.form
    if form is None:
        return pa.nulls(len(texts.sizes)), np.zeros(len(texts.sizes), np.bool_)
    match form:
        case BooleanForm():
            numbers = texts.words("u1")
            readable = (texts.sizes == 1) & (numbers <= 1)
            array = pa.array(numbers == 1)
        case NumberForm():
            array, readable = _numbers(texts, form, _LAYOUTS[storage.type.kind])
        case DecimalForm():
            array, readable = _decimals(texts, form, storage.type)
        case BytesForm():
            array = texts.to_arrow()
            readable = texts.present if form.size is None else texts.sizes == form.size
            if form.utf8:
                readable &= _is_utf8(array)
    return without(array, ~readable), texts.present & ~readable


def _numbers(texts: ByteStrings, form: NumberForm, layout: str) -> tuple[pa.Array, Mask]:
    numbers = texts.words(form.layout)
    readable = texts.sizes == np.dtype(form.layout).itemsize
    if form.low is not None and form.high is not None:
        readable &= (numbers >= form.low) & (numbers <= form.high)
    # Numbers that cannot be read are replaced, because converting or scaling them may overflow.
    numbers = np.where(readable, numbers, 0).astype(layout)
    return pa.array(numbers * form.scale if form.scale != 1 else numbers), readable


def _is_utf8(array: pa.BinaryArray) -> Mask:
    """Return the lanes with valid UTF-8; those without bytes count as valid."""
    try:
        array.cast(pa.string())
    except pa.ArrowInvalid:
        return np.array([text is None or _is_text(text) for text in array.to_pylist()], np.bool_)
    return np.ones(len(array), np.bool_)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decimals(texts: ByteStrings, form: DecimalForm, type_: Type) -> tuple[pa.Array, Mask]:
    """Decode unscaled numbers; those with more digits than the type are not readable."""
    readable = texts.sizes > 0 if form.size is None else (texts.sizes == form.size) & (texts.sizes > 0)
    short = np.flatnonzero(readable & (texts.sizes <= _DECIMAL_BYTES))
    words = np.zeros((len(texts.sizes), 2), "<u8")
    words[short] = _little_words(texts.take(short)) if form.little else _big_words(texts.take(short))
    long = np.flatnonzero(readable & (texts.sizes > _DECIMAL_BYTES))
    for lane in long:
        unscaled = _unscaled_number(texts, int(lane))
        readable[lane] = abs(unscaled) < 10**type_.precision
        words[lane] = _split(unscaled) if readable[lane] else 0
    readable &= _is_below(words, 10**type_.precision)
    array = pa.Array.from_buffers(
        pa.decimal128(type_.precision, type_.scale), len(words), [None, pa.py_buffer(words)]
    )
    return array, readable


def _little_words(texts: ByteStrings) -> _Words:
    """Return the 128-bit numbers of little-endian ones of 4 or 8 bytes, the lower half first."""
    numbers = np.where(texts.sizes == 4, texts.words("<i4"), texts.words("<i8")).astype(np.int64)
    return np.stack([numbers, numbers >> 63], axis=1).view("<u8")


def _big_words(texts: ByteStrings) -> _Words:
    """Return the 128-bit numbers of big-endian ones of 1 to 16 bytes, the lower half first."""
    data = np.frombuffer(texts.buffer, np.uint8)
    # Column 0 has the lowest byte of each number.
    offsets = np.arange(_DECIMAL_BYTES)
    places = (texts.starts + texts.sizes - 1)[:, None] - offsets
    is_inside = offsets < texts.sizes[:, None]
    sign = np.where(data[texts.starts] & 0x80, 0xFF, 0).astype(np.uint8)
    little = np.where(is_inside, data[np.where(is_inside, places, 0)], sign[:, None])
    return np.ascontiguousarray(little).view("<u8")


def _is_below(words: _Words, limit: int) -> Mask:
    """Return the lanes whose number is less than the limit and greater than its negative."""
    (low, high), (least_low, least_high) = _split(limit), _split(1 - limit)
    lows, highs = words[:, 0], words[:, 1].view(np.int64)
    below = (highs < np.int64(high)) | ((highs == np.int64(high)) & (lows < np.uint64(low)))
    signed_least = np.uint64(least_high).astype(np.int64)
    above = (highs > signed_least) | ((highs == signed_least) & (lows >= np.uint64(least_low)))
    mask: Mask = below & above
    return mask


def _split(number: int) -> tuple[int, int]:
    """Return the halves of a number's 128 bits, the lower one first, each without a sign."""
    bits = number & ((1 << 128) - 1)
    return bits & ((1 << 64) - 1), bits >> 64


def _unscaled_number(texts: ByteStrings, lane: int) -> int:
    start = int(texts.starts[lane])
    return int.from_bytes(texts.buffer[start : start + int(texts.sizes[lane])], "big", signed=True)
