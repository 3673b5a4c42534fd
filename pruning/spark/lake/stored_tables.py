"""Tables that are opened from the store of their metadata, without listing their files.

The DataFrame's file index is one of ours: it makes Spark's own index of all files when a plan first asks for
them. `prune` searches the store before that, so that of a table of millions of files Spark sees only those
that are left.
"""

import uuid
import warnings
import weakref
from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from pruning.errors import InputError
from pruning.metadata.files.listing import ListedFile, Listing
from pruning.metadata.files.locations import NoFileSystem, address, is_on_local_disk, locate
from pruning.metadata.files.places import places_of_directory
from pruning.metadata.files.table_formats import table_format_notes
from pruning.metadata.store.packs import Damaged
from pruning.metadata.store.snapshots import Snapshot, open_snapshot, paths_of
from pruning.spark.jvm.compiling import java_instance
from pruning.spark.jvm.gateway import (
    Java,
    first_line,
    java_interface,
    jvm,
    sequence,
    simple_name,
    string_array,
)
from pruning.spark.lake.hadoop_files import HadoopFiles
from pruning.spark.lake.leaf_copies import index_of_listings
from pruning.spark.lake.tables import STORED_INDEX, one_slash

_NS_PER_MS = 1_000_000
# The name of a file that stands for those of a directory.
_EXAMPLE = "-"


def stored_frame(spark: SparkSession, path: str) -> DataFrame:
    """Return the table in a directory of Parquet files, as `pruning.table` does.

    Raises:
        InputError: as `pruning.table`.
    """
    snapshot = _snapshot(path)
    has_markers = None if is_on_local_disk(path) else HadoopFiles(spark).has_markers
    for note in table_format_notes([path], [], has_markers=has_markers):
        warnings.warn(note, stacklevel=3)
    try:
        return StoredTable(spark, path, snapshot).frame()
    except (Py4JError, PySparkException) as error:
        raise InputError(
            f"{path}: Spark cannot read its files ({first_line(error)}); check the path"
        ) from error


def _snapshot(path: str) -> Snapshot:
    """Return the newest snapshot of a directory.

    Raises:
        InputError: there is none that can be used.
    """
    again = f"`pruning.collect({path!r})` lists it"
    snapshots: list[Snapshot] = []
    for directory in _identities(path):
        for place in places_of_directory(directory):
            try:
                snapshot = open_snapshot(place)
            except Damaged as damage:
                raise InputError(f"{damage}; {again} again") from damage
            if place.directory == directory and snapshot is not None:
                snapshots.append(snapshot)
    newest = max(snapshots, key=lambda snapshot: snapshot.looked_us, default=None)
    if newest is None or not newest.packs:
        raise InputError(f"{path}: nothing is kept of its metadata; {again} and keeps it")
    if not newest.is_whole:
        raise InputError(f"{path}: some of its files were listed after the whole was; {again} again")
    return newest


def _identities(path: str) -> list[str]:
    """Return the names under which the store may have a directory."""
    try:
        _, located = locate(path)
    except NoFileSystem:
        return [unquote(path).rstrip("/")]
    return [located] if is_on_local_disk(path) else [address(path), unquote(path).rstrip("/")]


def _hadoop_path(path: str) -> str:
    """Return a path as Hadoop reads it: a URI without escapes."""
    return f"file:{locate(path)[1]}" if is_on_local_disk(path) else unquote(path)


class StoredTable:
    """A table that was opened from the store.

    Attributes:
        snapshot: The files that the table has.
        examples: Spark's index of a file in each of its directories; there is no such file.
    """

    def __init__(self, spark: SparkSession, path: str, snapshot: Snapshot) -> None:
        """Open a table.

        Args:
            spark: The session.
            path: The table's directory.
            snapshot: Its files.
        """
        self.snapshot = snapshot
        self._spark, self._path = spark, path
        hadoop = jvm(spark).org.apache.hadoop.fs.Path(_hadoop_path(path))
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._root = hadoop.getFileSystem(configuration).makeQualified(hadoop)
        first = spark.read.option("basePath", self._root.toString()).parquet(
            f"{self._root.toString()}/{snapshot.first}"
        )
        self._relation = first._jdf.queryExecution().analyzed().relation()
        paths = self._example_paths()
        zeros = [0] * len(paths)
        self.examples = self._index(self._statuses(paths, zeros, zeros), None)
        self._partitions = self.examples.partitionSpec()
        self._partition_schema = self.examples.partitionSchema()

    def frame(self) -> DataFrame:
        """Return the table as a DataFrame."""
        spark = self._spark
        name = uuid.uuid4().hex
        ensure_callback_server_started(spark.sparkContext._gateway)
        roots, size_bytes = sequence(spark, [self._root]), self.snapshot.size_bytes
        index = java_instance(spark, STORED_INDEX).of(
            name, _AllFiles(self), roots, self._partition_schema, size_bytes
        )
        _TABLES[name] = self
        relation = self._relation.copy(
            index,
            self._partition_schema,
            self._relation.dataSchema(),
            self._relation.bucketSpec(),
            self._relation.fileFormat(),
            self._relation.options(),
            self._relation.sparkSession(),
        )
        java = spark._jsparkSession.baseRelationToDataFrame(relation)
        return DataFrame(java, spark)

    def index(self) -> Java:
        """Return Spark's index of all files.

        Raises:
            InputError: a file has been written or removed since the table was listed; or a version of the
                store is damaged, or has been deleted since.
        """
        try:
            files = self.snapshot.files()
        except Damaged as damage:
            raise InputError(f"{damage}; `pruning.table({self._path!r})` opens the table anew") from damage
        index = self.index_of(files)
        check_unchanged(self._spark, self.listing_of(index, files))
        return index

    def index_of(self, files: pa.Table) -> Java:
        """Return Spark's index of some files, as `pruning.metadata.store.log.FILES` describes them."""
        times = [time // _NS_PER_MS for time in files["modified_ns"].to_pylist()]
        statuses = self._statuses(paths_of(files), files["size_bytes"].to_pylist(), times)
        return self._index(statuses, self._partitions)

    def names_in(self, index: Java, paths: Sequence[str]) -> list[str]:
        """Return the names that Spark gives files in an index of them, by their paths below the table's."""
        root = self._root.toString().rstrip("/")
        names = string_array(self._spark, index.inputFiles())
        by_path = {one_slash(unquote(name)): name for name in names}
        return [by_path[one_slash(f"{root}/{path}")] for path in paths]

    def listing_of(self, index: Java, files: pa.Table) -> Listing:
        """Return the files in an index as the store saw them, under the names that Spark gives them."""
        place, paths = self.snapshot.place, paths_of(files)
        sizes, times = files["size_bytes"].to_pylist(), files["modified_ns"].to_pylist()
        return Listing(
            tuple(
                ListedFile(
                    file=name,
                    path=f"{place.directory}/{path}",
                    local=place.is_local,
                    size_bytes=size_bytes,
                    modified_ns=modified_ns,
                    named=False,
                )
                for name, path, size_bytes, modified_ns in zip(
                    self.names_in(index, paths), paths, sizes, times, strict=True
                )
            ),
            place.directory,
        )

    def names_of_examples(self) -> list[str]:
        """Return the names that Spark gives the examples, in the order of the snapshot's directories."""
        return self.names_in(self.examples, self._example_paths())

    def _example_paths(self) -> list[str]:
        directories = self.snapshot.directories
        return [f"{directory}/{_EXAMPLE}" if directory else _EXAMPLE for directory in directories]

    def _statuses(self, paths: list[str], sizes: list[int], times_ms: list[int]) -> Java:
        texts = ("\0".join(map(str, values)) for values in (paths, sizes, times_ms))
        return java_instance(self._spark, STORED_INDEX).statuses(self._root, *texts)

    def _index(self, statuses: Java, partitions: Java | None) -> Java:
        return index_of_listings(self._spark, self._relation, [(self._root, statuses)], partitions)


def check_unchanged(spark: SparkSession, listing: Listing) -> None:
    """Check that files are those that the store saw.

    Raises:
        InputError: one of them is not.
    """
    statuses = HadoopFiles(spark).statuses([listed.file for listed in listing.files])
    for listed, status in zip(listing.files, statuses, strict=True):
        if isinstance(status, str) or not status.is_of(listed):
            raise InputError(
                f"{listed.file}: was written or removed after the table was listed; list it anew by "
                "`pruning.collect` of its directory, and open it again"
            )


class _AllFiles:
    """Gives the index of all files of a table to the Java side, when a plan asks for them.

    py4j holds the object, and so the table, while Java has an index of it.
    """

    Java = java_interface("java.util.concurrent.Callable")

    def __init__(self, table: StoredTable) -> None:
        """Remember the table."""
        self._table = table

    def call(self) -> object:
        """Return the index."""
        return self._table.index()


# The tables that were opened and whose indexes Java still has, by the names of these.
_TABLES: weakref.WeakValueDictionary[str, StoredTable] = weakref.WeakValueDictionary()


def stored_table(leaf: Java) -> StoredTable | None:
    """Return the table of a leaf of a plan, if it was opened from the store."""
    if simple_name(leaf) != "LogicalRelation":
        return None
    relation = leaf.relation()
    if simple_name(relation) != "HadoopFsRelation" or simple_name(relation.location()) != STORED_INDEX:
        return None
    return _TABLES.get(relation.location().name())
