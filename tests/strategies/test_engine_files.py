"""The files of tables that engines are asked about have the encodings and the types of their layouts."""

import pyarrow.parquet as pq
import pytest

from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.engine_values import TYPES, neighbours, order, values
from strategies.engines.files import arrow_array, write_stored
from strategies.engines.questions import Column


@pytest.mark.parametrize(
    ("type_", "encoding", "name"),
    [
        ("int64", "delta", "DELTA_BINARY_PACKED"),
        ("string", "delta", "DELTA_LENGTH_BYTE_ARRAY"),
        ("string", "prefix", "DELTA_BYTE_ARRAY"),
        ("float32", "split", "BYTE_STREAM_SPLIT"),
        ("boolean", "split", "RLE"),
    ],
)
def test_pages_have_the_encoding_of_a_layout_where_their_type_has_it(tmp_path, type_, encoding, name):
    block = tuple((value, row) for row, value in enumerate(values(type_)[:2]))
    layout = StoredLayout(encoding=encoding, data_page="2.0")
    table = StoredTable(columns=(Column("a", type_), Column("rid", "int64")), blocks=(block,), layout=layout)
    (path,) = write_stored(table, tmp_path)
    encodings = pq.read_metadata(path).row_group(0).column(0).encodings
    assert name in encodings
    assert "RLE_DICTIONARY" not in encodings


@pytest.mark.parametrize(
    ("type_", "cells", "stored"),
    [
        ("float64", [0.5, "NaN", None], "float"),
        ("float64", [0.1], "double"),
        ("float64", [1e308], "double"),
        ("int64", [2**31 - 1], "int32"),
        ("int64", [2**31], "int64"),
        ("string", ["a"], "string"),
    ],
)
def test_a_narrower_file_holds_the_same_values(tmp_path, type_, cells, stored):
    rows = tuple((cell, row) for row, cell in enumerate(cells))
    layout = StoredLayout(evolution="narrowed", blocks_per_file=1)
    columns = (Column("a", type_), Column("rid", "int64"))
    paths = write_stored(StoredTable(columns=columns, blocks=(rows, rows), layout=layout), tmp_path)
    first, second = map(pq.read_table, paths)
    assert str(second.schema.field("a").type) == stored
    assert repr(first["a"].to_pylist()) == repr(second["a"].to_pylist())


@pytest.mark.parametrize("type_", TYPES)
def test_each_type_has_values_in_order_and_pyarrow_holds_them(type_):
    all_values = values(type_)
    assert len(all_values) >= 2
    ordered = sorted(all_values, key=lambda value: order(value, type_))
    assert len(ordered) == len(all_values)
    assert arrow_array(type_, [*all_values, None]).null_count == 1
    for value in all_values:
        assert value not in neighbours(value, type_)


def test_decimals_have_widths_in_bytes_that_are_powers_of_two_and_others(tmp_path):
    decimals = [type_ for type_ in TYPES if type_.startswith("decimal")]
    columns = (*(Column(f"c{at}", type_) for at, type_ in enumerate(decimals)), Column("rid", "int64"))
    table = StoredTable(columns=columns, blocks=(((*("0.00",) * len(decimals), 0),),))
    (path,) = write_stored(table, tmp_path)
    schema = pq.read_metadata(path).schema
    widths = {schema.column(at).length for at in range(len(decimals))}
    assert {4, 16} <= widths
    assert len([width for width in widths if width.bit_count() > 1]) >= 3
