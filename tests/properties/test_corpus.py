"""PROP-13: files that other projects wrote. Verdicts against Spark's counts of every row; lies are named.

Shares   block metadata and the trees of predicates; Spark reads the same files.
Trusts   Spark's Parquet reader without pushdown, row by row.
Leaves   what Spark cannot read: of that, nothing may be claimed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from needs import CORPUS, needs_corpus
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions

from oracles.answers.frames import session, settings
from pruning.expressions import types
from pruning.expressions.names import leaf_name, quoted_name
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import (
    Column,
    Compare,
    Comparison,
    Element,
    Expression,
    IsNull,
    Literal,
    Not,
    Quantified,
    Quantifier,
)
from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.schema import column_types, flat_columns
from pruning.metadata.table.structs import field_of
from pruning.metadata.views.verifying import verify
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from strategies.base.tables import Table
from strategies.predicates.predicates import predicates

pytestmark = needs_corpus

# Statistics that no reader can tell from true ones, by column.
LIARS = {"duckdb__corrupt_stats.parquet": {"A", "B"}}  # the writer shifted them by its time zone
# Files that Spark refuses as a whole, whatever is asked of them.
REFUSED = {
    "parquet-testing__float16_nonzeros_and_nans.parquet",  # a type that Spark does not know
    "parquet-testing__unknown-logical-type.parquet",  # an annotation that its footer reader does not know
}
# And those that older releases refuse, for an annotation that came later.
REFUSED_ONCE = {"duckdb__snowflake_variant.parquet", "parquet-testing__geography-points.parquet"}
# Some files hold encodings that Spark reads row by row only, and dates in either calendar.
READING = {
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
PREDICATES = 12  # in one Spark job
SAMPLED_ROWS, SAMPLED_BLOCKS = 40, 8
# How Spark tells a value as `pruning.expressions.types` holds it.
INTERNAL = {
    Kind.STRING: "CAST({} AS binary)",
    Kind.DATE: "unix_date({})",
    Kind.TIMESTAMP: "unix_micros({})",
    Kind.TIMESTAMP_NTZ: "unix_micros(CAST({} AS timestamp))",
}


def _cases() -> dict[str, list[Path]]:
    """Every file by its name, and the data files of every table by the table's."""
    files = sorted(path for path in CORPUS.glob("*.par*") if path.is_file())
    tables = sorted(path for path in CORPUS.glob("tables/*") if path.is_dir())
    return {path.name: [path] for path in files} | {
        path.name: sorted(file for file in path.glob("*.parquet") if not file.name.startswith("_"))
        for path in tables
    }


CASES = _cases()


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """Files under names that need no quotes.

    Attributes:
        frame: Their rows as Spark reads them, with the ordinal of their block as `block`.
        metadata: What is known of their blocks.
        table: Columns that hold a value a row, and values to compare them with: some rows, and bounds.
        elements: Elements of arrays, and values to compare them with.
    """

    frame: Any
    metadata: pa.Table
    table: Table
    elements: tuple[tuple[Element, tuple[Value, ...]], ...]


# A default run takes every second file.
READ = [
    pytest.param(name, marks=[pytest.mark.deep] if place % 2 else [])
    for place, name in enumerate(sorted(CASES.keys() - REFUSED))
]


@pytest.fixture(scope="module", params=READ)
def foreign(request: pytest.FixtureRequest, spark: Any) -> Iterator[Foreign]:
    """Each file or table that Spark reads, with the columns that tell the truth."""
    name = request.param
    with session(spark), settings(spark, READING):
        try:
            found = _foreign(spark, CASES[name], LIARS.get(name, set()))
        except (PySparkException, Py4JJavaError):
            if name not in REFUSED_ONCE:
                raise
            pytest.skip(f"Spark {spark.version} refuses {name}")
        yield found


def _foreign(spark: Any, files: list[Path], lying: set[str]) -> Foreign:
    metadata = collect(files, cache=False)
    found = {leaf.name: leaf for file in files for leaf in read_footer(str(file)).leaves}
    known = column_types(metadata)
    leaves = {name: found[name] for name in known if name not in lying}
    names = {name: _plain_name(number, leaf) for number, (name, leaf) in enumerate(leaves.items())}
    rows = _rows(spark, files, flat_columns(known)).selectExpr(
        f"{_block_sql(metadata)} AS block",
        *dict.fromkeys(
            f"{'.'.join(map(quoted_name, leaf.fields))} AS {_top(names[name])}"
            for name, leaf in leaves.items()
        ),
    )
    metadata = _renamed(metadata, names)
    columns = tuple(Column(names[name], known[name]) for name, leaf in leaves.items() if not leaf.is_repeated)
    values = _bounds(metadata)
    return Foreign(
        frame=rows,
        metadata=metadata,
        table=Table(columns, (_sampled(rows, columns, values),)),
        elements=tuple(
            (Element(_top(names[name]), leaf.below, known[name]), tuple(values[names[name]]))
            for name, leaf in leaves.items()
            if leaf.below is not None
        ),
    )


def _plain_name(number: int, leaf: SchemaLeaf) -> str:
    return f"c{number}" if leaf.below is None else leaf_name(f"a{number}", leaf.below)


def _top(name: str) -> str:
    """The column that a leaf's plain name is, or that is the array of its elements."""
    return name.partition("[")[0].strip("`")


def _rows(spark: Any, files: list[Path], flat: dict[str, Type]) -> Any:
    """The files as Spark reads them; by their known columns alone where it refuses another."""
    paths = [str(file) for file in files]
    try:
        return spark.read.option("mergeSchema", len(files) > 1).parquet(*paths)
    except (PySparkException, Py4JJavaError):
        schema = ", ".join(f"{quoted_name(name)} {type_.sql}" for name, type_ in flat.items())
        return spark.read.schema(schema).parquet(*paths)


def _block_sql(metadata: pa.Table) -> str:
    """A row's block: the last of its file's that begins at or before it."""
    starts: dict[str, list[tuple[int, int]]] = {}
    for block, (file, start) in enumerate(
        zip(metadata["file"].to_pylist(), metadata["row_offset"].to_pylist(), strict=True)
    ):
        starts.setdefault(Path(file).name, []).append((start, block))
    if not starts:
        return "CAST(NULL AS int)"
    cases = [
        f"WHEN _metadata.file_name = '{name}' THEN {places[0][1]} - 1 + size(filter("
        f"array({', '.join(str(start) for start, _ in places)}), start -> start <= _metadata.row_index))"
        for name, places in starts.items()
    ]
    return f"CASE {' '.join(cases)} END"


def _renamed(metadata: pa.Table, names: dict[str, str]) -> pa.Table:
    """The metadata of those columns under other names."""
    columns = metadata["columns"].combine_chunks()
    columns = pa.concat_arrays(columns.chunks) if isinstance(columns, pa.ChunkedArray) else columns
    if names:
        parts = [field_of(columns, name) for name in names]
        columns = pa.StructArray.from_arrays(parts, names=list(names.values()))
    else:
        columns = pa.array([{}] * len(metadata), pa.struct([]))
    return metadata.set_column(metadata.schema.get_field_index("columns"), "columns", columns)


def _bounds(metadata: pa.Table) -> dict[str, list[Value]]:
    """The bounds of some blocks, by column, as predicates hold them."""
    columns = metadata.slice(0, SAMPLED_BLOCKS)["columns"]
    found: dict[str, list[Value]] = {}
    for name, type_ in column_types(metadata).items():
        facts = field_of(columns, name)
        sides = [field_of(facts, side) for side in ("min", "max")]
        if type_.kind is Kind.STRING:
            sides = [side.cast(pa.binary()) for side in sides]
        elif type_.integer_range is not None:
            sides = [
                side.cast(pa.int32()) if type_.kind is Kind.DATE else side.cast(pa.int64()) for side in sides
            ]
        found[name] = [value for side in sides for value in side.to_pylist() if value is not None]
    return found


def _sampled(rows: Any, columns: Sequence[Column], bounds: dict[str, list[Value]]) -> tuple[Any, ...]:
    """Some rows, and rows of bounds."""
    if not columns:
        return ()
    told = [INTERNAL.get(column.type.kind, "{}").format(column.name) for column in columns]
    few = rows.selectExpr(*told).limit(SAMPLED_ROWS).collect()
    held = [tuple(bytes(one) if isinstance(one, bytearray) else one for one in row) for row in few]
    most = max((len(bounds[column.name]) for column in columns), default=0)
    return (
        *held,
        *(tuple(_nth(bounds[column.name], place) for column in columns) for place in range(most)),
    )


def _nth(values: list[Value], place: int) -> Value | None:
    return values[place % len(values)] if values else None


@st.composite
def asked(draw: DrawFn, of: Foreign) -> Expression:
    """A predicate over the columns of a file, or over the elements of one of its arrays."""
    if of.elements and (not of.table.columns or draw(st.booleans())):
        return draw(of_elements(*draw(st.sampled_from(of.elements))))
    return draw(predicates(of.table))


@st.composite
def of_elements(draw: DrawFn, element: Element, values: tuple[Value, ...]) -> Expression:
    """An array has an element, or has none but elements, that compare so with a value or are NULL."""
    value = draw(st.sampled_from((*values, *filter(None, map(_beside, values)), None)))
    operator = draw(st.sampled_from(Comparison))
    body: Expression = Compare(operator, element, Literal(value, element.type))
    body = draw(st.sampled_from((body, Not(body), IsNull(element), Not(IsNull(element)))))
    found: Expression = Quantified(draw(st.sampled_from(Quantifier)), element.array, body)
    return draw(st.sampled_from((found, Not(found))))


def _beside(value: Value) -> Value | None:
    """A value just above an integer or a text."""
    if isinstance(value, bytes):
        return value + b"!"
    return value + 1 if type(value) is int and abs(value) < 100 else None


def _counts(frame: Any, asked: list[Expression]) -> tuple[dict[int, int], list[dict[int, int] | None]]:
    """Rows of each block, and of these how many satisfy each predicate; None for one that raises."""
    try:
        sums = [functions.expr(f"count_if({to_sql(predicate)})") for predicate in asked]
        counted = frame.groupBy("block").agg(functions.count("*"), *sums).collect()
    except (PySparkException, Py4JJavaError):
        if len(asked) > 1:
            alone = [_counts(frame, [predicate]) for predicate in asked]
            return alone[0][0], [matching for _, (matching,) in alone]
        rows, _ = _counts(frame, [])
        return rows, [None]
    return (
        {row[0]: row[1] for row in counted},
        [{row[0]: row[2 + place] for row in counted} for place in range(len(asked))],
    )


def _check(foreign: Foreign, asked: list[Expression]) -> None:
    """NONE only where no row of a block matches, ALL only where each does."""
    rows, matching = _counts(foreign.frame, asked)
    said = dict(enumerate(foreign.metadata["row_count"].to_pylist()))
    assert rows == {block: count for block, count in said.items() if count}
    for predicate, counts in zip(asked, matching, strict=True):
        if counts is None:
            continue
        for block, verdict in enumerate(classify_blocks(predicate, foreign.metadata).to_pylist()):
            total = rows.get(block, 0)
            assert verdict != Match.NONE or counts.get(block, 0) == 0, (block, to_sql(predicate))
            assert verdict != Match.ALL or counts.get(block, 0) == total > 0, (block, to_sql(predicate))


def _at_bounds(foreign: Foreign) -> list[tuple[Expression, bool]]:
    """Of each column: is it NULL, is it beyond the first block's bounds, and do those skip that block?"""
    found: list[tuple[Expression, bool]] = []
    subjects: list[Column | Element] = [*foreign.table.columns, *(one for one, _ in foreign.elements)]
    for subject in subjects:
        bounds = _bounds(foreign.metadata.slice(0, 1)).get(subject.name, [])
        tests: list[tuple[Expression, bool]] = [(IsNull(subject), False)]
        if len(bounds) == 2:
            least, greatest = (Literal(bound, subject.type) for bound in bounds)
            tests.append((Compare(Comparison.LESS, subject, least), True))
            # NaN is above every bound, and is not excluded by any.
            tests.append((Compare(Comparison.GREATER, subject, greatest), not subject.type.floating))
        for test, skips in tests:
            exists = isinstance(subject, Element)
            found.append((Quantified(Quantifier.EXISTS, subject.array, test) if exists else test, skips))
    return found


def test_verdicts_at_the_bounds_of_foreign_files_agree_with_counts_of_all_rows(foreign: Foreign) -> None:
    """PROP-13. Each column, nested ones too, and each block: where bounds are known they do skip."""
    told = _at_bounds(foreign)
    _check(foreign, [predicate for predicate, _ in told])
    for predicate, skips in told:
        if skips:
            assert classify_blocks(predicate, foreign.metadata)[0].as_py() == Match.NONE, to_sql(predicate)


def test_the_check_of_verdicts_sees_a_lie(spark: Any) -> None:
    """The statistics that are false do lead to false verdicts, and those are seen."""
    for name in LIARS:
        with session(spark), settings(spark, READING):
            lying = _foreign(spark, CASES[name], set())
            with pytest.raises(AssertionError):
                _check(lying, [predicate for predicate, _ in _at_bounds(lying)])


@examples(0.07)
@given(data=st.data())
def test_verdicts_on_foreign_files_agree_with_counts_of_all_rows(
    foreign: Foreign, data: st.DataObject
) -> None:
    """PROP-13. Predicates over all columns of a file, with values of its own and bounds."""
    if foreign.table.columns or foreign.elements:
        _check(foreign, [data.draw(asked(foreign)) for _ in range(PREDICATES)])


def test_columns_have_the_types_that_spark_gives_them(foreign: Foreign) -> None:
    """Those that hold a value a row."""
    read = dict(foreign.frame.dtypes)
    assert {column.name: read[column.name] for column in foreign.table.columns} == {
        column.name: column.type.sql for column in foreign.table.columns
    }


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_of_a_file_that_spark_refuses_nothing_is_claimed_that_could_be_asked(spark: Any, name: str) -> None:
    """Spark still refuses it, so that no query can lose a row of it."""
    (file,) = CASES[name]
    metadata = collect(file, cache=False)
    known = flat_columns(column_types(metadata))
    unknown = IsNull(Column("no such column", types.INTEGER))
    assert set(classify_blocks(unknown, metadata).to_pylist()) <= {Match.SOME}
    with session(spark), settings(spark, READING), pytest.raises((PySparkException, Py4JJavaError)):
        spark.read.parquet(str(file)).collect()
    if known:
        with session(spark), settings(spark, READING), pytest.raises((PySparkException, Py4JJavaError)):
            _rows(spark, [file], known).collect()


def test_every_file_that_lies_is_named_and_no_other() -> None:
    """What is believed of each file beside its data, read in a process that a file may take down."""
    names = {str(file): name for name, files in CASES.items() for file in files}
    found = {one.file: one for one in verify(list(names))}
    assert found.keys() == names.keys()
    lies = {names[file]: {lie.column for lie in one.lies} for file, one in found.items() if one.lies}
    assert lies == LIARS
    assert sum(one.claims for one in found.values()) > 1_000


def test_foreign_files_have_bounds_to_be_wrong_about() -> None:
    """Without this, believing nothing would pass: so many columns of files have some."""
    tables = [collect(files, cache=False) for files in CASES.values()]
    bounds = [
        field_of(field_of(table["columns"], name), "min") for table in tables for name in column_types(table)
    ]
    assert sum(bound.null_count < len(bound) for bound in bounds) > 100
