"""Releases of engines whose pruning is known to be wrong, and where: the first two rooms.

What triggers it is not told: the hunt has to find it.
"""

from dataclasses import dataclass

BY_ITSELF = "by itself"
_PUSHED_FILTERS = "set datafusion.execution.parquet.pushdown_filters=true"
EXPRESSIONS = ("arithmetic", "cast", "choice", "text function", "time function")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignWriter:
    """Another engine that writes the files of a trial; `pins` is what pip installs, the engine first."""

    engine: str
    pins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A release whose pruning is known to be wrong.

    Attributes:
        engine: The adapter that asks it; an engine with tables of its own stands beside that of files.
        pins: What pip installs, the engine first.
        area: Where it is wrong.
        traits: What a finding in that area has, one of each tuple. `BY_ITSELF` is a trait of what contradicts
            the engine with nothing to prune by, not the reference alone, and `function in` of a question with
            that function.
        trial: A word that tells two trials of one release apart.
        writer: The engine whose files it reads beside those of pyarrow and its own.
        is_current: Whether no later release is right, so that none can be asked for the right answer.
        mended: What pip installs of the first release without the fault, if others with the same traits were
            mended later; what convicts is answered rightly by it.
        without: Settings, and their values, that turn off what is wrong in that area, if traits do not tell
            it from the rest; with them the release answers rightly what convicts it.
    """

    engine: str
    pins: tuple[str, ...]
    area: str
    traits: tuple[tuple[str, ...], ...]
    trial: str = ""
    writer: ForeignWriter | None = None
    is_current: bool = False
    mended: tuple[str, ...] = ()
    without: tuple[tuple[str, str], ...] = ()

    @property
    def package(self) -> str:
        """The package, which is imported by the same name."""
        return pinned_package(self.pins)

    @property
    def name(self) -> str:
        """The name of its environment, and the word of the trial."""
        return environment_name(self.pins) + (f"-{self.trial}" if self.trial else "")


def pinned_package(pins: tuple[str, ...]) -> str:
    """Return the package of the first pin."""
    return pins[0].partition("==")[0].partition("[")[0]


def environment_name(pins: tuple[str, ...]) -> str:
    """Return the package of the first pin and its version, as in the name of its environment."""
    return f"{pinned_package(pins)}-{pins[0].partition('==')[2]}"


FIRST_ROOM = (
    Release(
        engine="duckdb",
        pins=("duckdb==1.5.6",),
        area="floating point beside bloom filters",
        # What DuckDB writes has bloom filters.
        traits=(("floating",), ("a bloom filter", "written by duckdb")),
    ),
    Release(
        engine="duckdb-tables",
        pins=("duckdb==1.5.2",),
        area="which row groups ORDER BY needs",
        traits=(("topk",),),
    ),
    Release(
        engine="duckdb",
        pins=("duckdb==1.1.0",),
        area="joins whose inputs are limited",
        traits=(("join",), ("join of a limited relation",)),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==54.0.0", "pyarrow"),
        area="filters that a join makes while it runs",
        # IN with a subquery is a join, too. Without NULL it is bloom filters that are wrong in such filters.
        traits=((BY_ITSELF,), ("join", "subquery"), ("NULL",)),
        without=(("datafusion.optimizer.enable_dynamic_filter_pushdown", "false"),),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==51.0.0", "pyarrow"),
        area="LIKE",
        traits=(("pattern",),),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==50.1.0", "pyarrow"),
        area="statistics of some files only",
        traits=(("partial statistics",),),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==44.0.0", "pyarrow"),
        area="LIMIT over outer joins",
        traits=(("left join", "right join", "full join"), ("LIMIT",)),
    ),
    Release(
        engine="polars",
        pins=("polars==0.13.6",),
        area="ranges",
        traits=(("ordering",),),
    ),
    Release(
        engine="polars",
        pins=("polars==0.19.0",),
        area="NULL tests",
        # Reported of a text (pola-rs/polars#11069); whatever the type, it is the statistics that are missing.
        traits=(("null test",),),
    ),
    Release(
        engine="polars",
        pins=("polars==0.20.31",),
        area="unsigned integers",
        # It orders them as signed ones where it writes.
        traits=(("unsigned",), ("written by polars",)),
    ),
    Release(
        engine="polars",
        pins=("polars==1.38.1",),
        area="floating point in files by pyarrow",
        traits=(("floating",),),
    ),
    Release(
        engine="iceberg",
        pins=("pyiceberg[sql-sqlite]==0.11.1", "pyarrow"),
        area="DELETE where a condition is negated",
        traits=(("dml",), ("not", "inequality", "null-safe", "null test")),
    ),
    Release(
        engine="deltalake",
        pins=("deltalake==0.10.0", "pyarrow==14.0.2", "numpy<2"),
        area="NULL tests",
        traits=(("null test",),),
    ),
    Release(
        engine="deltalake",
        pins=("deltalake==0.24.0", "pyarrow"),
        area="columns without statistics beside checkpoints",
        traits=(("with stats_columns", "with indexed_columns"), ("with checkpoint_after",)),
    ),
)
# One release both writes files and reads tables of Iceberg, in one environment.
_POLARS_WITH_ICEBERG = ("polars==1.44.2", "pyiceberg[sql-sqlite]==0.12.0", "pyiceberg-core", "pyarrow")
SECOND_ROOM = (
    Release(
        engine="datafusion",
        pins=("datafusion==54.0.0", "pyarrow"),
        trial="null-safe",
        area="null-safe joins",
        # DataFusion makes such joins of INTERSECT and EXCEPT, too.
        traits=(("join", "set"), ("null-safe join", "intersect", "except"), ("NULL",)),
        without=(("datafusion.optimizer.enable_dynamic_filter_pushdown", "false"),),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==54.0.0", "pyarrow"),
        trial="bloom",
        area="bloom filters of decimals",
        traits=((BY_ITSELF,), ("decimal",), ("a bloom filter", "with bloom_filter_on_write")),
    ),
    Release(
        engine="polars",
        pins=("polars==1.30.0",),
        area="hive directories of NULL",
        traits=((BY_ITSELF,), ("partitioned files",), ("NULL",)),
    ),
    Release(
        engine="deltalake",
        pins=("deltalake==0.15.2", "pyarrow==14.0.2", "numpy<2"),
        area="files whose statistics its own writer leaves empty",
        # Other statistics of this release are wrong, too, however rows are spread over files.
        traits=(
            (BY_ITSELF,),
            ("with rows_per_file", "with rows_per_group", "with blocks_per_append"),
        ),
    ),
    Release(
        engine="duckdb",
        pins=("duckdb==1.5.6",),
        trial="zeros",
        area="bloom filters of signed zeros",
        traits=(
            (BY_ITSELF,),
            ("floating",),
            # Of the column, or of what it is compared with.
            ("signed zero", "a -0.0 literal"),
            ("a bloom filter", "written by duckdb"),
        ),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==52.0.0", "pyarrow"),
        area="aggregates with filters made while they run, a race",
        traits=((BY_ITSELF,), ("aggregate",), ("set datafusion.execution.target_partitions=4",)),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==43.1.0", "pyarrow"),
        area="LIMIT with a filter over several files",
        traits=((BY_ITSELF,), ("limit: rows lost",), (_PUSHED_FILTERS,)),
    ),
    Release(
        engine="polars",
        pins=("polars==1.33.1",),
        area="decimals over several pages",
        traits=(
            (BY_ITSELF,),
            ("decimal",),
        ),
    ),
    Release(
        engine="polars",
        pins=_POLARS_WITH_ICEBERG,
        trial="nulls",
        area="counts of NULL over several pages, as writer",
        traits=((BY_ITSELF,), ("written by polars",), ("NULL",)),
    ),
    Release(
        engine="polars",
        pins=("polars==1.32.0",),
        area="IN lists of strings",
        traits=((BY_ITSELF,), ("text", "bytes"), ("function in",)),
    ),
    Release(
        engine="polars",
        pins=("polars==0.18.7",),
        area="IN over an expression",
        traits=((BY_ITSELF,), ("function in",), EXPRESSIONS),
    ),
    Release(
        engine="duckdb-tables",
        pins=("duckdb==1.5.0",),
        area="ORDER BY and LIMIT with NULL, its own tables",
        traits=((BY_ITSELF,), ("topk",), ("NULL",)),
        # Rows are also lost beside deleted rows, until 2.0.0.
        mended=("duckdb==1.5.1",),
    ),
    Release(
        engine="duckdb-tables",
        pins=("duckdb==1.5.6",),
        trial="topk",
        area="ORDER BY a converted key, its own tables",
        # Comparisons of casts are wrong, too, with statistics and without.
        traits=((BY_ITSELF,), ("topk",), ("cast",)),
    ),
    Release(
        engine="duckdb",
        pins=("duckdb==1.5.4",),
        area="window functions whose number is limited",
        traits=(("window",),),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==55.0.0", "pyarrow"),
        trial="decimals",
        area="decimals in files by another engine",
        traits=((BY_ITSELF,), ("decimal",), ("written by polars 1.44.2",)),
        writer=ForeignWriter(engine="polars", pins=_POLARS_WITH_ICEBERG),
    ),
    Release(
        engine="polars-iceberg",
        pins=_POLARS_WITH_ICEBERG,
        trial="iceberg",
        area="decimals in tables of Iceberg",
        traits=(
            (BY_ITSELF,),
            ("decimal",),
        ),
    ),
    Release(
        engine="datafusion",
        pins=("datafusion==55.0.0", "pyarrow"),
        trial="current",
        area="aggregates of expressions with filters made while they run",
        traits=(
            ("aggregate",),
            (*EXPRESSIONS, "FILTER", "DISTINCT"),
        ),
        is_current=True,
    ),
)
