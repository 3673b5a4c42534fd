"""Deletion vectors: their forms, and descriptors that cannot be."""

import struct
from pathlib import Path
from typing import Any

import pytest
from delta_logs import WrittenLog, add, column, inline, metadata, native, portable, protocol, stored_vectors
from hypothesis import given
from hypothesis import strategies as st

from pruning.errors import InputError
from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.delta.vectors import _bitmap


def positions(root: Path, vector: dict[str, Any]) -> list[int]:
    log = WrittenLog(root / "t").commit(protocol(), metadata(column("v")), add("a", deletionVector=vector))
    return list(open_delta_version(str(log.root)).deleted_rows.positions([0])[0])


def test_the_example_of_the_protocol_is_read(tmp_path: Path) -> None:
    vector = {
        "storageType": "i",
        "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
        "sizeInBytes": 40,
        "cardinality": 6,
    }
    assert positions(tmp_path, vector) == [3, 4, 7, 11, 18, 29]


ROWS = st.sets(st.integers(0, 2**31 - 1) | st.integers(0, 100_000), max_size=9)


@given(rows=ROWS)
def test_each_form_gives_the_rows_that_were_written(rows: set[int]) -> None:
    forms = (portable(rows), native(rows), native(rows, ">"))
    assert [set(_bitmap(form)) for form in forms] == [rows] * 3


@pytest.mark.parametrize("row", [2**31, 2**32, 2**40])
def test_rows_that_spark_does_not_number_are_refused(row: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"/t/a: its deletion vector .* beyond the first 2\^31"):
        positions(tmp_path, inline([0, row]))


BAD = [
    ({"cardinality": 2}, "lists 1 rows, and the table's log says 2"),
    ({"pathOrInlineDv": "a"}, "in the log is garbled"),
    ({"pathOrInlineDv": "~~~~~"}, "in the log is garbled"),
    ({"pathOrInlineDv": "00000"}, "cannot be read (it is cut)"),
    ({"pathOrInlineDv": "00000" * 5, "sizeInBytes": 20}, "begins with no number of a form"),
    ({"storageType": "r"}, "is stored in the way 'r'"),
    ({"storageType": "u", "pathOrInlineDv": "~" * 20}, "has the garbled name"),
    ({"cardinality": None}, "lacks a field"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD)
def test_a_descriptor_that_cannot_be_is_one_sentence(
    changes: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        positions(tmp_path, inline([5]) | changes)
    assert sentence in str(error.value)
    assert "/t/a: its deletion vector" in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        portable([1])[:-2],
        native([1])[:-2],
        struct.pack("<Ii", 1681511376, -1),
        struct.pack("<Iii", 1681511376, 1, -5),
        struct.pack("<IQ", 1681511377, 5),
    ],
)
def test_a_vector_that_is_cut_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        positions(tmp_path, inline([1], content))


def test_an_absolute_path_is_one_with_escapes(tmp_path: Path) -> None:
    elsewhere = tmp_path / "else where"
    (vector,) = stored_vectors(elsewhere, [[7]]) if not elsewhere.mkdir() else ()
    (file,) = elsewhere.glob("*.bin")
    address = file.as_uri()
    assert "%20" in address
    assert positions(tmp_path, vector | {"storageType": "p", "pathOrInlineDv": address}) == [7]
