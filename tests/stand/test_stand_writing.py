"""Files of a table are written by the one that its layout names, or else by pyarrow."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from skipproof.stand.hunt.hunting import capabilities
from skipproof.stand.hunt.writing import NotWritten, available_writers, make_write, write_with_worker
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import Died, Hello, Worker
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.questions import Column

pytest.importorskip("duckdb")

TABLE = StoredTable(
    columns=(Column("a", "float64"), Column("rid", "int64")),
    blocks=(((1.5, 0), (None, 1)), ((-2.0, 2),), ((7.0, 3),)),
    layout=StoredLayout(writer="duckdb", blocks_per_file=2),
)


class Lame:
    """A worker that answers each request alike."""

    def __init__(self, reply):
        self.hello = Hello.from_message(
            {"protocol": 1, "engine": "lame", "version": "1", "areas": ["filter"]}
        )
        self.reply = reply

    def ask(self, **request):
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@pytest.fixture(scope="module")
def duckdb():
    with Worker(engines.find_engine("duckdb").command) as worker:
        yield worker


def rows(paths):
    return [[tuple(row.values()) for row in pq.read_table(path).to_pylist()] for path in paths]


def authors(paths):
    return {pq.ParquetFile(path).metadata.created_by.split()[0].lower() for path in paths}


def test_the_engine_of_the_layout_writes_the_blocks_of_each_file(duckdb, tmp_path):
    paths = make_write({"duckdb": duckdb})(TABLE, tmp_path)
    assert authors(paths) == {"duckdb"}
    assert rows(paths) == [[(1.5, 0), (None, 1), (-2.0, 2)], [(7.0, 3)]]


def test_pyarrow_writes_what_names_no_worker(duckdb, tmp_path):
    paths = make_write({"polars": duckdb})(TABLE, tmp_path)
    assert authors(paths) == {"parquet-cpp-arrow"}


@pytest.mark.parametrize(
    "reply",
    [{"error": "Unsupported: writing", "kind": "unsupported"}, {"written": True}, Died("it ended")],
    ids=["refused", "no file", "died"],
)
def test_pyarrow_writes_what_a_worker_does_not(tmp_path, reply):
    with pytest.raises(NotWritten):
        write_with_worker(Lame(reply), TABLE, tmp_path)
    paths = make_write({"duckdb": Lame(reply)})(TABLE, tmp_path)
    assert authors(paths) == {"parquet-cpp-arrow"}
    assert rows(paths) == [[(1.5, 0), (None, 1), (-2.0, 2)], [(7.0, 3)]]


def test_only_workers_that_write_are_writers(duckdb):
    found = available_writers({"duckdb": duckdb, "lame": Lame({})})
    assert found == {"pyarrow": {}, "duckdb": duckdb.hello.layouts}
    assert list(found) == ["pyarrow", "duckdb"]


def test_a_writer_is_told_the_options_of_the_layout(duckdb, tmp_path):
    paths = []
    for name, options in (("plain", {}), ("told", {"dictionary_size_limit": 1})):
        (tmp_path / name).mkdir()
        table = replace(TABLE, blocks=((*TABLE.blocks[0], *TABLE.blocks[1]) * 5,))
        table = replace(table, layout=replace(TABLE.layout, format_options=options))
        paths += write_with_worker(duckdb, table, tmp_path / name)
    encodings = [set(pq.read_metadata(path).row_group(0).column(0).encodings) for path in paths]
    assert encodings == [{"PLAIN_DICTIONARY"}, {"PLAIN"}]


@pytest.mark.parametrize("name", ["duckdb", "polars", "datafusion"])
def test_an_engine_writes_with_each_of_its_options(name, tmp_path):
    pytest.importorskip(name)
    with Worker(engines.find_engine(name).command) as worker:
        assert worker.hello.layouts
        for option, values in worker.hello.layouts.items():
            for value in values:
                layout = StoredLayout(writer=name, format_options={option: value})
                directory = tmp_path / f"{option} {value}"
                directory.mkdir()
                (path,) = write_with_worker(worker, replace(TABLE, layout=layout), directory)
                assert rows([path]) == [[(1.5, 0), (None, 1), (-2.0, 2), (7.0, 3)]]


def test_engines_of_files_have_no_layouts_of_their_own(duckdb):
    assert capabilities(duckdb).layouts is None
