"""Page indexes of files that are not local, by the session's own Hadoop file systems."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pruning.errors import InputError
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.footers.footer import ByteRange
from pruning.metadata.pages.measured_pages import MeasuredFiles
from pruning.metadata.pages.page_reading import ArrowFiles, PageFiles
from pruning.spark.lake.hadoop_files import HadoopFiles


def page_files(spark: SparkSession, files: TableFiles) -> PageFiles:
    """Return what reads the footers and page indexes of files that Spark lists."""
    if files.are_local:
        return ArrowFiles()
    sizes = {file: stamp.size_bytes for file, stamp in zip(files.files, files.stamps, strict=True)}
    return _HadoopPages(HadoopFiles(spark), sizes)


@dataclass(frozen=True, slots=True)
class _HadoopPages:
    """Files that a session reads, and their sizes in bytes."""

    hadoop: HadoopFiles
    sizes: Mapping[str, int]

    def footers(self, files: Sequence[str]) -> list[bytes | None]:
        """Return the bytes of the footers, in one call for many."""
        return list(self.hadoop.footers({file: self.sizes[file] for file in files}))

    def ranges(self, places: Sequence[tuple[str, ByteRange]]) -> list[bytes]:
        """Return the bytes at these places, in one call."""
        answers = self.hadoop.ranges([(file, place.offset, place.size) for file, place in places])
        for (file, _), answer in zip(places, answers, strict=True):
            if isinstance(answer, str):
                raise InputError(f"{file}: cannot be read ({answer}); check the path and its permissions")
        return [answer for answer in answers if not isinstance(answer, str)]

    def measured_pages(self, files: Sequence[str], columns: Collection[str]) -> MeasuredFiles:
        """Return nothing: statistics are kept beside local files only."""
        return {}
