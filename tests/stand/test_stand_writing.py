"""Files of a table are written by the one that its layout names, or else by pyarrow."""

import contextlib
import sys
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pruning.errors import InputError
from skipproof.commands import checking
from skipproof.stand.hunt.hunting import Hunt, capabilities
from skipproof.stand.hunt.writing import (
    NotWritten,
    available_writers,
    make_write,
    write_with_worker,
    writer_name,
    writer_releases,
)
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import Died, Hello, Worker
from strategies.engines.engine_tables import StoredLayout, StoredTable
from strategies.engines.questions import Column
from strategies.engines.worlds import World

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


def test_a_finding_names_the_release_of_each_writer(duckdb):
    """An engine's own name in a layout is its running release; a foreign writer's name has its release."""
    layouts = {"t": StoredLayout(), "u": StoredLayout(writer="duckdb"), "v": StoredLayout(writer="lame 1")}
    tables = {name: replace(TABLE, layout=layout) for name, layout in layouts.items()}
    world = World(tables=tables, settings={}, questions=())
    assert writer_releases(world, duckdb.hello) == {
        "t": f"pyarrow {pa.__version__}",
        "u": f"duckdb {duckdb.hello.version}",
        "v": "lame 1",
    }
    assert writer_releases(world, replace(duckdb.hello, tables="own")) == {}


@contextlib.contextmanager
def silent():
    yield lambda *_: None


@pytest.fixture
def hunted_writers(monkeypatch):
    """The writers of each hunt that `check` would begin."""
    writers = []

    def no_hunt(worker, able, *_, **__):
        writers.append(able.writers)
        return Hunt()

    monkeypatch.setattr(checking, "hunt", no_hunt)
    return writers


def test_a_writer_has_an_interpreter_of_its_own_and_is_named_by_its_release(hunted_writers, monkeypatch):
    """Files of it stand beside those of the reader itself, also where both are releases of one engine."""
    pythons = []
    find_engine = engines.find_engine

    def find(name, *, python=None):
        pythons.append((name, python))
        return find_engine(name)

    monkeypatch.setattr(engines, "find_engine", find)
    release = Hello.from_message
    versions = iter(["1.0", "0.9"])

    def of_another_release(message):
        return replace(release(message), version=next(versions))

    monkeypatch.setattr(Hello, "from_message", of_another_release)
    request = checking.CheckRequest(
        examples=1, seconds=None, area="filter", writers=("duckdb",), writer_python=sys.executable
    )
    list(checking.check_each(["duckdb"], request, silent))
    assert pythons == [("duckdb", None), ("duckdb", sys.executable)]
    (writers,) = hunted_writers
    assert list(writers) == ["pyarrow", "duckdb", "duckdb 0.9"]


def test_a_writer_that_is_the_reader_itself_does_not_write_twice(hunted_writers):
    request = checking.CheckRequest(examples=1, seconds=None, area="filter", writers=("duckdb",))
    list(checking.check_each(["duckdb"], request, silent))
    assert list(hunted_writers[0]) == ["pyarrow", "duckdb"]


def test_an_engine_with_tables_of_its_own_takes_no_writer(hunted_writers):
    request = checking.CheckRequest(examples=1, seconds=None, writers=("duckdb",))
    with pytest.raises(InputError, match="--writer duckdb: duckdb-tables makes its tables itself"):
        list(checking.check_each(["duckdb-tables"], request, silent))
    assert not hunted_writers


def test_the_name_of_a_writer_is_its_engine_and_release(duckdb):
    assert writer_name(duckdb.hello) == f"duckdb {duckdb.hello.version}"
