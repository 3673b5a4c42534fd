"""Files of a table are written by the one that its layout names, or else by pyarrow."""

import pyarrow.parquet as pq
import pytest

from skipproof.stand import engines
from skipproof.stand.hunting import able
from skipproof.stand.workers import Died, Hello, Worker
from skipproof.stand.writing import NotWritten, writer_names, writing, written_by
from strategies.engine_tables import Layout, Stored
from strategies.questions import Column

pytest.importorskip("duckdb")

TABLE = Stored(
    columns=(Column("a", "float64"), Column("rid", "int64")),
    blocks=(((1.5, 0), (None, 1)), ((-2.0, 2),), ((7.0, 3),)),
    layout=Layout(writer="duckdb", blocks_per_file=2),
)


class Lame:
    """A worker that answers each request alike."""

    def __init__(self, reply):
        self.hello = Hello.of({"protocol": 1, "engine": "lame", "version": "1", "areas": ["filter"]})
        self.reply = reply

    def ask(self, **request):
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


@pytest.fixture(scope="module")
def duckdb():
    with Worker(engines.engine("duckdb").command) as worker:
        yield worker


def rows(paths):
    return [[tuple(row.values()) for row in pq.read_table(path).to_pylist()] for path in paths]


def writers(paths):
    return {pq.ParquetFile(path).metadata.created_by.split()[0].lower() for path in paths}


def test_the_engine_of_the_layout_writes_the_blocks_of_each_file(duckdb, tmp_path):
    paths = writing({"duckdb": duckdb})(TABLE, tmp_path)
    assert writers(paths) == {"duckdb"}
    assert rows(paths) == [[(1.5, 0), (None, 1), (-2.0, 2)], [(7.0, 3)]]


def test_pyarrow_writes_what_names_no_worker(duckdb, tmp_path):
    paths = writing({"polars": duckdb})(TABLE, tmp_path)
    assert writers(paths) == {"parquet-cpp-arrow"}


@pytest.mark.parametrize(
    "reply",
    [{"error": "Unsupported: writing", "kind": "unsupported"}, {"written": True}, Died("it ended")],
    ids=["refused", "no file", "died"],
)
def test_pyarrow_writes_what_a_worker_does_not(tmp_path, reply):
    with pytest.raises(NotWritten):
        written_by(Lame(reply), TABLE, tmp_path)
    paths = writing({"duckdb": Lame(reply)})(TABLE, tmp_path)
    assert writers(paths) == {"parquet-cpp-arrow"}
    assert rows(paths) == [[(1.5, 0), (None, 1), (-2.0, 2)], [(7.0, 3)]]


def test_only_workers_that_write_are_writers(duckdb):
    assert writer_names({"duckdb": duckdb, "lame": Lame({})}) == ("pyarrow", "duckdb")


def test_engines_of_files_have_no_layouts_of_their_own(duckdb):
    assert able(duckdb).layouts is None
