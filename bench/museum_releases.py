"""Old releases of engines whose pruning is known to be wrong, and where.

What triggers it is not told: the hunt has to find it.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An old release whose pruning is known to be wrong.

    Attributes:
        engine: Who asks it; an engine with tables of its own stands beside that of files.
        pins: What pip installs, the engine first.
        area: Where it is wrong.
        traits: What a finding in that area has, one of each tuple.
    """

    engine: str
    pins: tuple[str, ...]
    area: str
    traits: tuple[tuple[str, ...], ...]

    @property
    def package(self) -> str:
        """The package, which is imported by the same name."""
        return self.pins[0].partition("==")[0].partition("[")[0]

    @property
    def name(self) -> str:
        """The package and its version, as in the name of its environment."""
        return f"{self.package}-{self.pins[0].partition('==')[2]}"


RELEASES = (
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
        # Without this switch they prune row groups only.
        traits=(("join",), ("set datafusion.execution.parquet.pushdown_filters=true",)),
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
# What pip installs of a package that is not installed here: its newest release.
CURRENT = {
    "duckdb": ("duckdb",),
    "datafusion": ("datafusion", "pyarrow"),
    "polars": ("polars",),
    "pyiceberg": ("pyiceberg[sql-sqlite]", "pyiceberg-core", "pyarrow"),
    "deltalake": ("deltalake", "pyarrow"),
}
