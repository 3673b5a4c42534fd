"""Files that other projects wrote: each is refused with one sentence, or its bounds enclose its data.

Shares   pyarrow's reader of values; none of its statistics.
Leaves   what pyarrow cannot read, nested columns, and columns that metadata leaves out.
"""

import contextlib
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from needs import CORPUS, needs_corpus

from pruning.metadata.store.collecting import read_blocks
from pruning.metadata.table.schema import column_types, flat_columns

# Statistics that no reader can tell from true ones: the writer shifted them by its time zone.
LIARS = {"duckdb__corrupt_stats.parquet": {"A", "B"}}


def _readable() -> list[str]:
    """The files that, by the corpus's own list, pyarrow reads without dying."""
    manifest = CORPUS / "MANIFEST.md"
    lines = manifest.read_text().splitlines() if manifest.is_file() else []
    rows = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("| ")]
    return [row[1] for row in rows if len(row) > 6 and re.match(r"ok\b", row[6])]


pytestmark = needs_corpus


def _enclosed(facts: dict[str, Any], values: pa.Array, bound: pa.DataType) -> bool:
    """Whether the values lie within the bounds and as many are NULL as is said."""
    if facts["null_count"] not in (None, values.null_count):
        return False
    present = values.drop_null()
    if pa.types.is_floating(bound):
        present = present.filter(pc.invert(pc.is_nan(present)))
    low, high = (pa.scalar(facts[side], bound) for side in ("min", "max"))
    if pa.types.is_string(bound):
        low, high, present = (part.cast(pa.binary()) for part in (low, high, present))
    below = pc.less(present, low) if low.is_valid else pa.array([False])
    above = pc.greater(present, high) if high.is_valid else pa.array([False])
    return not (pc.any(below).as_py() or pc.any(above).as_py())


def _as_bounds(values: pa.ChunkedArray, bound: pa.DataType) -> pa.Array:
    whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    whole = pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    return whole.cast(pa.binary() if pa.types.is_string(bound) else bound, safe=False)


def _opened(path: Path) -> pq.ParquetFile:
    """The file for pyarrow to read; skips the test where this release does not know its types yet."""
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        pytest.skip(f"pyarrow {pa.__version__} cannot open {path.name}: {error}")


def _false_columns(path: Path) -> tuple[set[str], int]:
    """The columns with a false statement in some row group, and how many bounds there were."""
    table, failures, _ = read_blocks([str(path)], cache=False)
    for sentence in failures.values():
        assert sentence.startswith(f"{path}: ")
        assert "\n" not in sentence
    file, wrong, bounds = _opened(path), set(), 0
    for ordinal, row in enumerate(table["columns"].to_pylist()):
        for name in flat_columns(column_types(table)):
            bound = table.schema.field("columns").type.field(name).type.field("min").type
            facts = row[name]
            bounds += (facts["min"] is not None) + (facts["max"] is not None)
            values = _as_bounds(file.read_row_group(ordinal, columns=[name])[name], bound)
            if pa.types.is_string(bound):
                values = values.cast(pa.binary())
            if not _enclosed(facts, values, bound):
                wrong.add(name)
    return wrong, bounds


@pytest.mark.parametrize("name", _readable())
def test_a_foreign_file_is_refused_or_its_bounds_enclose_its_data(name: str) -> None:
    """For each row group and known column: bounds and NULL counts are true of the values."""
    wrong, _ = _false_columns(CORPUS / name)
    assert wrong == LIARS.get(name, set())


def test_foreign_files_have_bounds_to_be_wrong_about() -> None:
    """Without this, believing nothing would pass: most files with usable statistics yield some."""
    counts = {}
    for name in _readable():
        with contextlib.suppress(pytest.skip.Exception):
            counts[name] = _false_columns(CORPUS / name)[1]
    assert sum(count > 0 for count in counts.values()) >= len(counts) // 3


def test_enclosure_is_judged_both_ways() -> None:
    """The judge itself: a value outside, a wrong NULL count, and both right."""
    values = pa.array([1, 5, None])
    facts = {"null_count": 1, "min": 1, "max": 5}
    assert _enclosed(facts, values, pa.int64())
    assert not _enclosed(facts | {"min": 2}, values, pa.int64())
    assert not _enclosed(facts | {"max": 4}, values, pa.int64())
    assert not _enclosed(facts | {"null_count": 0}, values, pa.int64())
