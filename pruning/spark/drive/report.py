"""The report on a pruned query, scan by scan, for people and as JSON."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pruning.spark.jvm.executed_scans import ExecutedScan

# A glob may give thousands of paths; `to_dict` has all of them.
PATHS_SHOWN = 3
# A text in SQL in the form that every setting of Spark's parser reads in the same way.
_TEXT_IN_BYTES = re.compile(r"CAST\(X'((?:[0-9A-F]{2})*)' AS STRING\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The files and blocks that one technique removed from one scan, and the predicate.

    `files` are not opened at all. `blocks` hold no needed row; those inside files that are still
    read are skipped by Spark if a filter that it pushes down excludes them, and are read otherwise.
    `rows_inside` are rows of pages without a needed row, in blocks that have other ones.
    """

    technique: str
    predicate: str
    files: int
    blocks: int
    rows_inside: int = 0


@dataclass(frozen=True, slots=True)
class Decline:
    """The reason for which a technique removed nothing from a scan, and what would change it, if known."""

    technique: str
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanReport:
    """The report on one scan. Blocks (row groups) and their compressed bytes are None if no footer was read.

    `blocks_kept` and `bytes_kept` count the blocks that may hold a needed row, `blocks_read_max` and
    `bytes_read_max` also those that Spark may read beside them: of the files that it opens, it is sure to
    skip only what the filters that it pushes exclude, and what is outside the bytes that it is told to read.
    `blocks_skipped_with_files` lie in files that are not opened, `blocks_skipped_by_filters` in files that
    are, and `blocks_skipped_by_places` in files of which only the bytes of other row groups are read; all
    have rows. Bytes are of the columns that the query reads. A block of a file whose footer could not be read
    counts nowhere.

    Where page indexes were read, pages of the columns that the query reads are counted of the row groups that
    are opened and have such indexes, rows of the whole table. Otherwise these counts are None.

    `rows_left` are the rows of what is kept, where each footer is known, and `rows_read` those that the scan
    gave when an action such as `collect` last ran the pruned DataFrame itself: the reader skips row groups
    and pages by itself, and stops where no more rows are needed.

    `declined` has the techniques that removed nothing. `picture` has the shares of blocks that are kept, of
    equal parts of the table's files in their order, for a picture of them.
    """

    paths: tuple[str, ...]
    files_total: int | None = None
    files_kept: int | None = None
    blocks_total: int | None = None
    blocks_kept: int | None = None
    bytes_total: int | None = None
    bytes_kept: int | None = None
    blocks_read_max: int | None = None
    bytes_read_max: int | None = None
    blocks_skipped_with_files: int | None = None
    blocks_skipped_by_filters: int | None = None
    blocks_skipped_by_places: int | None = None
    pages_total: int | None = None
    pages_kept: int | None = None
    pages_read_max: int | None = None
    rows_total: int | None = None
    rows_kept: int | None = None
    rows_read_max: int | None = None
    requests: int | None = None
    rows_left: int | None = None
    rows_read: int | None = None
    removals: tuple[Removal, ...] = ()
    range_filters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    declined: tuple[Decline, ...] = ()
    picture: tuple[float, ...] = ()
    # Catalyst's expression ids of the columns, those of copies of the scan too.
    attributes: frozenset[int] = frozenset()

    def with_notes(self, *notes: str) -> "ScanReport":
        """Return the report with more notes at its end."""
        return replace(self, notes=(*self.notes, *notes))

    def with_blocks(
        self,
        *,
        total: int,
        kept: int,
        read_max: int,
        with_files: int,
        by_filters: int,
        by_places: int,
    ) -> "ScanReport":
        """Return the report with its counts of blocks."""
        return replace(
            self,
            blocks_total=total,
            blocks_kept=kept,
            blocks_read_max=read_max,
            blocks_skipped_with_files=with_files,
            blocks_skipped_by_filters=by_filters,
            blocks_skipped_by_places=by_places,
        )

    def with_bytes(self, *, total: int, kept: int, read_max: int) -> "ScanReport":
        """Return the report with its counts of bytes, which are those of the columns that are read."""
        return replace(self, bytes_total=total, bytes_kept=kept, bytes_read_max=read_max)

    def with_requests(self, saved: int) -> "ScanReport":
        """Return the report with the least number of reads that are saved."""
        return replace(self, requests=saved)

    @property
    def requests_saved(self) -> int:
        """The least number of reads that are saved: one for each unread row group and each unread footer.

        Where page indexes were read, more reads inside row groups are subtracted.
        """
        if self.requests is not None:
            return self.requests
        read = self.blocks_kept if self.blocks_read_max is None else self.blocks_read_max
        return (self.files_total or 0) - (self.files_kept or 0) + (self.blocks_total or 0) - (read or 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready values."""
        values = asdict(self)
        for name in ("requests", "declined", "picture", "attributes"):
            del values[name]
        return {**values, "requests_saved": self.requests_saved}

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report as aligned text."""
        yield _path_list(self.paths)
        for label, kept, read_max, total in (
            ("files", self.files_kept, None, self.files_total),
            ("blocks", self.blocks_kept, self.blocks_read_max, self.blocks_total),
            ("pages", self.pages_kept, self.pages_read_max, self.pages_total),
            ("rows", self.rows_kept, self.rows_read_max, self.rows_total),
            ("bytes", self.bytes_kept, self.bytes_read_max, self.bytes_total),
        ):
            # A query that reads no column, such as a count of all rows, reads no pages or bytes of columns.
            if kept is not None and total is not None and (total or label not in ("pages", "bytes")):
                yield f"  {label:<9}{_kept_text(kept, kept if read_max is None else read_max, total)}"
        inside = (self.blocks_skipped_by_filters or 0) + (self.blocks_skipped_by_places or 0)
        if inside or (self.blocks_read_max or 0) > (self.blocks_kept or 0):
            yield f"  {'skipped':<9}{_skipped_text(self)}"
        for removal in self.removals:
            yield f"  {removal.technique:<9}{_removed_text(removal)}"
            yield f"  {'because':<9}{readable(removal.predicate)}"
        if self.requests_saved:
            yield f"  {'requests':<9}at least {self.requests_saved:,} saved"
        for sql in self.range_filters:
            yield f"  {'added':<9}{sql}"
        if self.rows_read is not None:
            left = "" if self.rows_left is None else f"; what planning left has {self.rows_left:,}"
            yield f"  {'run':<9}the reader gave {self.rows_read:,} rows{left}"
        for note in self.notes:
            yield f"  {'note':<9}{note}"


def _removed_text(removal: Removal) -> str:
    """Return, as text, what a technique has removed."""
    inside = f", {removal.rows_inside:,} rows of others" if removal.rows_inside else ""
    return f"removed {removal.blocks:,} blocks, {removal.files:,} whole files{inside}"


def _skipped_text(report: ScanReport) -> str:
    """Return, as text, why blocks are not read, and how many are read although they were removed."""
    parts = [f"{report.blocks_skipped_with_files or 0:,} with their files"]
    if report.blocks_skipped_by_filters:
        parts.append(f"{report.blocks_skipped_by_filters:,} by pushed filters")
    if report.blocks_skipped_by_places:
        parts.append(f"{report.blocks_skipped_by_places:,} by their places")
    in_vain = (report.blocks_read_max or 0) - (report.blocks_kept or 0)
    return ", ".join(parts) + (f"; {in_vain:,} may be read in vain" if in_vain else "")


def _path_list(paths: tuple[str, ...]) -> str:
    """Return the first paths, and the number of the others, as text."""
    more = len(paths) - PATHS_SHOWN
    return ", ".join(paths[:PATHS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _kept_text(kept: int, read_max: int, total: int) -> str:
    """Return the counts of what is kept and what may be read, and the share that is skipped, as text."""
    beside = f", at most {read_max:,} read" if read_max > kept else ""
    share = f", {100 * (total - read_max) / total:.1f} % skipped" if total else ""
    return f"{kept:,} of {total:,} kept{beside}{share}"


def readable(sql: str) -> str:
    """Return SQL with its texts as people write them, as raw literals where they have a backslash or a quote.

    The result is for people: it means the same, but not under every setting of Spark's parser.
    """
    return _TEXT_IN_BYTES.sub(_as_text, sql)


def _as_text(match: re.Match[str]) -> str:
    try:
        text = bytes.fromhex(match[1]).decode()
    except UnicodeDecodeError:
        return match[0]
    if not text.isprintable() or ("'" in text and '"' in text):
        return match[0]
    if "'" in text:
        return f'r"{text}"'
    return f"r'{text}'" if "\\" in text else f"'{text}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job that was run to decide more than metadata can: its purpose, files, rows and seconds."""

    purpose: str
    files: int
    rows: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.purpose}: {self.files:,} files, {self.rows:,} rows, {1000 * self.seconds:,.0f} ms"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The report on a query: its scans in plan order, notes on the whole query, and the jobs it ran."""

    scans: tuple[ScanReport, ...] = ()
    notes: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()

    def after_run(self, executed: Sequence[ExecutedScan]) -> "Report":
        """Return the report with the rows that scans gave, copies too; of those that stand in a plan once."""
        columns = [scan.attributes for scan in self.scans] + [scan.attributes for scan in executed]
        counts = Counter(id_ for ids in columns for id_ in ids)
        once = {
            id_: place for place, scan in enumerate(executed) for id_ in scan.attributes if counts[id_] == 2
        }
        scans = []
        for scan in self.scans:
            places = {once[id_] for id_ in scan.attributes if id_ in once}
            rows = sum(executed[place].rows for place in places)
            scans.append(replace(scan, rows_read=rows) if places else scan)
        return replace(self, scans=tuple(scans))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-ready values."""
        return {
            "scans": [scan.to_dict() for scan in self.scans],
            "notes": list(self.notes),
            "jobs": [asdict(job) for job in self.jobs],
        }

    def why(self) -> "WhyNot":
        """Return the reasons for which techniques removed nothing, of each scan; as text, JSON or HTML.

        Example:
            >>> import pruning, pyarrow as pa, pyarrow.parquet as pq, tempfile
            >>> folder = tempfile.TemporaryDirectory()
            >>> pq.write_table(pa.table({"x": [1, 2, 8, 9]}), f"{folder.name}/t.parquet", row_group_size=2)
            >>> df = spark.read.parquet(folder.name).where("x > 0")
            >>> print(pruning.explain(df).why())  # doctest: +ELLIPSIS
            scan 1: ...
              filter   each block may hold a row with (`x` > 0L)
            ...
        """
        return WhyNot(
            notes=self.notes,
            scans=tuple((scan.paths, scan.declined or _reasons_to_leave(scan.notes)) for scan in self.scans),
        )

    def _repr_html_(self) -> str:
        """Return the report for notebooks, with a picture of the blocks that each scan keeps."""
        from pruning.spark.drive.notebooks import report_html

        return report_html(self)

    def __str__(self) -> str:
        lines = [f"note: {note}" for note in self.notes]
        for number, scan in enumerate(self.scans, start=1):
            first, *others = scan.lines()
            lines += [f"scan {number}: {first}", *others]
        lines += [f"job: {job}" for job in self.jobs]
        return "\n".join(lines) if lines else "The query reads no table."


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """The reasons for which techniques removed nothing.

    Attributes:
        notes: Notes on the whole query.
        scans: Of each scan, its paths and the techniques that removed nothing.
    """

    notes: tuple[str, ...] = ()
    scans: tuple[tuple[tuple[str, ...], tuple[Decline, ...]], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the reasons as JSON-ready values."""
        return {
            "notes": list(self.notes),
            "scans": [
                {"paths": list(paths), "declined": [asdict(decline) for decline in declined]}
                for paths, declined in self.scans
            ],
        }

    def __str__(self) -> str:
        lines = [f"note: {note}" for note in self.notes]
        for number, (paths, declined) in enumerate(self.scans, start=1):
            lines.append(f"scan {number}: {_path_list(paths)}")
            for decline in declined:
                lines.append(f"  {decline.technique:<9}{decline.reason}")
                lines += [f"  {'':<9}{decline.remedy}"] if decline.remedy else []
        return "\n".join(lines) if lines else "The query reads no table."

    def _repr_html_(self) -> str:
        """Return the reasons as a table for notebooks."""
        from pruning.spark.drive.notebooks import why_html

        return why_html(self)


def _reasons_to_leave(notes: tuple[str, ...]) -> tuple[Decline, ...]:
    """Return the reason for which a scan was left as it is, if it was."""
    return tuple(Decline("all", note) for note in notes)
