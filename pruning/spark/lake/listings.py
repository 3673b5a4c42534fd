"""The files that an index of Spark has listed, fetched from Java once for each state of the table."""

import re

from pyspark.sql import SparkSession

from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.recent import Recent
from pruning.metadata.files.table_files import TableFiles
from pruning.spark.jvm.compiling import optional_instance
from pruning.spark.jvm.gateway import Java, printed_elements, string_array
from pruning.spark.lake.hadoop_files import HadoopFiles

# The most files to hold in memory, of all tables together, about 600 bytes each.
FILES_HELD_MAX = 400_000
_DIGESTS = "FileListings"
# The text that Hadoop prints for a file's status, after its path; a status that wraps another has no path.
_STATUS = re.compile(
    r"\A(?!\w+\{path=null;).*; isDirectory=false; length=(\d+); .*; modification_time=(-?\d+);", re.DOTALL
)
# The name of a root that was added only to tell one choice of files from others begins so.
MARKER = ".skipproof-"
_LISTINGS: Recent[str, TableFiles] = Recent(FILES_HELD_MAX)


def listed_files(spark: SparkSession, index: Java) -> TableFiles:
    """Return the files of Spark's own index of files, with their sizes and times as Spark has listed them.

    One call gives the digest of the listing, under which the files may be held already.

    Claim     The result is what the index lists now.
    Premises  Two listings with the same digest are equal (`TableFiles.digest`).
    Proof     (1) What is held under a digest was fetched from an index, and has that digest.
              (2) Java computes the digest of the roots, files, sizes and times that the index lists now.
    """
    digest = listing_digest(spark, index)  # (2)
    held = None if digest is None else _LISTINGS.get(digest)
    if held is not None:
        return held
    files = fetch_files(spark, index)
    # Another thread may have listed the files anew in between.
    if digest is not None and digest == digest_of(files):  # (1)
        _LISTINGS.keep(digest, files, len(files.files))
    return files


def listing_digest(spark: SparkSession, index: Java) -> str | None:
    """Return the digest of what an index of files lists now, in one call; None where Java cannot tell."""
    digests = optional_instance(spark, _DIGESTS)
    return None if digests is None else str(digests.digest(index))


def digest_of(files: TableFiles) -> str:
    """Return the digest of files that were fetched."""
    return files.digest


def fetch_files(spark: SparkSession, index: Java) -> TableFiles:
    """Return what an index of files lists now, in many calls."""
    return TableFiles(
        roots=tuple(printed_elements(spark, index.rootPaths())),
        files=tuple(string_array(spark, index.inputFiles())),
        stamps=_stamps(spark, index.allFiles()),
    )


def _stamps(spark: SparkSession, statuses: Java) -> tuple[Stamp, ...]:
    """Return the sizes and times in Spark's own listing, a Scala Seq of Hadoop's `FileStatus`."""
    matches = [_STATUS.search(status) for status in printed_elements(spark, statuses)]
    if all(matches):
        return tuple(Stamp(int(match[1]), int(match[2])) for match in matches if match is not None)
    # The statuses of this file system print in another form.
    return tuple(HadoopFiles(spark).listed_stamps(statuses))


def is_marker(root: str) -> bool:
    """Tell whether a root was added only to tell one choice of files from others."""
    return root.rpartition("/")[2].startswith(MARKER)
