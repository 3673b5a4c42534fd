"""Files of many writers, indexed: every value that Spark reads may be in one of the file's blocks."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from looking_up import holding, present, rows_of, told
from needs import CORPUS, needs_corpus
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import pruning
from pruning.expressions.types import Type
from pruning.metadata.table.memberships import FIELD, value_type
from pruning.metadata.table.structs import whole

FILES = sorted([*CORPUS.glob("*.parquet"), *CORPUS.glob("*.parq")])
VALUES_MAX = 60

# Indexing the corpus takes seconds.
pytestmark = [
    pytest.mark.slow,
    needs_corpus,
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of all files, since an index is kept beside them."""
    root = tmp_path_factory.mktemp("corpus")
    for file in FILES:
        shutil.copy(file, root / f"{file.stem}.parquet")
    return root


@pytest.fixture(scope="module")
def indexed(corpus: Path) -> list[dict[str, pa.StructArray]]:
    """Per file what is kept of it: with all values listed, with little room, with its own filters."""
    found = []
    for options in ({"bytes_per_block": 1 << 20}, {"bytes_per_block": 160}, {"read_data": False}):
        report = pruning.index(corpus, **options)
        each = {path.stem: path for path in corpus.glob("*.parquet") if str(path) not in report.failures}
        known = {stem: pruning.collect(path) for stem, path in each.items()}
        found.append(
            {stem: whole(table[FIELD]) for stem, table in known.items() if FIELD in table.schema.names}
        )
    return found


def read_by_spark(spark: Any, path: Path, types: dict[str, Type]) -> dict[str, set[Any]]:
    """Some of the values that Spark reads in columns, those that it gives the same type."""
    try:
        frame = spark.read.parquet(str(path))
    except (PySparkException, Py4JJavaError):
        return {}
    read = {field.name: field.dataType.simpleString() for field in frame.schema}
    same = {name: type_ for name, type_ in types.items() if read.get(name) == type_.sql}
    try:
        rows = frame.select(*(f"`{name}`" for name in same)).limit(10_000).toArrow()
    except (PySparkException, Py4JJavaError):
        return {}
    values = {name: sorted(present(rows_of(rows[name], type_))) for name, type_ in same.items()}
    return {name: set(found[:: 1 + len(found) // VALUES_MAX]) for name, found in values.items()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_values_that_spark_reads_are_not_denied(
    spark: Any, file: Path, corpus: Path, indexed: list[dict[str, pa.StructArray]]
) -> None:
    """For each value of each column: some block of the file may hold it."""
    if not hasattr(spark.range(0), "toArrow"):
        pytest.skip("this Spark gives no Arrow tables")
    kept = [known[file.stem] for known in indexed if file.stem in known]
    types = {field.name: value_type(field.type) for known in kept for field in known.type}
    read = read_by_spark(spark, corpus / f"{file.stem}.parquet", types)
    for known in kept:
        for field in known.type:
            for value in read.get(field.name, ()):
                assert any(holding(known, value, types[field.name], field.name)), (field.name, value)


def test_many_columns_of_the_corpus_are_told_of(indexed: list[dict[str, pa.StructArray]]) -> None:
    """Without this, the property could hold because nothing is indexed."""
    listed, small, filtered = (
        sum(any(told(known, part, field.name)) for known in found.values() for field in known.type)
        for found, part in zip(indexed, ("dictionary", "filter", "filter"), strict=True)
    )
    assert listed > 120
    assert small > 5
    assert filtered >= 2
