"""Patterns of paths match what Hadoop matches, and what exists under such a name is meant first."""

import os
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError

import pruning
from pruning.errors import InputError
from pruning.metadata.files.globs import as_regex
from pruning.metadata.files.listing import list_files

FILES = (
    "a=1/x.parquet",
    "a=1/y.parquet",
    "a=2/x.parquet",
    "_a=3/x.parquet",
    "b[1]/x.parquet",
    "b1/x.parquet",
    "c{d}/x.parquet",
    "é/deep/x.parquet",
    "plain.parquet",
    ".hidden/x.parquet",
    "b1/_hidden.parquet",
    "_temporary/x.parquet",
)
PATTERNS = (
    "*", "*/*", "a=?", "a=[12]", "a=[^1]", "a=[!1]", "a=[0-1]/x.parquet", "{a=1,a=2}/x.parquet",
    "{a=1/x,a=2/x}.parquet", "{a={1,2},b1}/*.parquet", "*/x.parquet", "?=*/y*", "b\\[1\\]", "b[1]/*",
    "b?1?", "c\\{d\\}", "{é,b1}", "é/*/x.parquet", "[a-c]*", "*.parquet", "_a=*", "a=1/../a=2/[x]*",
    "**/x*", "a=1,*", "a^*", "[]x]*",
)  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Directories whose names have the signs of patterns, or are hidden."""
    root = tmp_path_factory.mktemp("globs")
    for file in FILES:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": [1]}), root / file)
    return root


def listed(pattern: str) -> set[str] | str:
    """The files that a pattern stands for here, or "refused"."""
    try:
        return {os.path.normpath(file.path) for file in list_files(pattern).files}
    except InputError:
        return "refused"


def by_spark(spark: Any, pattern: str) -> set[str] | str:
    """The files that Spark's own expansion of the pattern gives; it reads no file of a hidden name."""
    hadoop = spark._jvm.org.apache.hadoop.fs
    try:
        path = hadoop.Path(pattern)
        system = path.getFileSystem(spark._jsc.hadoopConfiguration())
        found = [status.getPath().toUri().getPath() for status in system.globStatus(path) or ()]
    except Py4JJavaError:
        # Hadoop refuses the pattern.
        return "refused"
    matched: set[str] = set()
    for place in found:
        if os.path.isdir(place):
            matched |= set(listed(place)) if any(os.scandir(place)) else set()
        elif not os.path.basename(place).startswith((".", "_")):
            matched.add(os.path.normpath(place))
    return matched or "refused"


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_what_hadoop_matches(spark: Any, lake: Path, pattern: str) -> None:
    """By the expansion that Spark itself calls; here a name that exists comes first."""
    if os.path.exists(lake / pattern):
        assert listed(f"{lake}/{pattern}") == listed(str((lake / pattern).resolve()))
    else:
        assert listed(f"{lake}/{pattern}") == by_spark(spark, f"{lake}/{pattern}")


SIGNS = st.sampled_from([*"ab=-^!,.+|$()", "*", "?", "[", "]", "{", "}", "\\", "[a-b]", "{a,b}", "é"])


@given(
    name=st.lists(SIGNS, max_size=8).map("".join),
    text=st.lists(st.sampled_from("ab=-^!,.+|$()[]{}\\é"), max_size=5),
)
@examples(4)
def test_one_name_matches_as_hadoop_says(spark: Any, name: str, text: list[str]) -> None:
    """For each pattern that both can read, and each name: Hadoop's GlobPattern is the oracle."""
    try:
        theirs = spark._jvm.org.apache.hadoop.fs.GlobPattern(name)
        expected = theirs.matches("".join(text))
    except Py4JJavaError:
        # Hadoop refuses the pattern.
        return
    try:
        regex = as_regex(name)
    except InputError:
        return
    assert (regex.fullmatch("".join(text)) is not None) == expected


def test_files_are_spelled_as_the_pattern_is(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative, absolute, and as a URI with its escapes."""
    monkeypatch.chdir(lake)
    assert [file.file for file in list_files("a=?/x*").files] == ["a=1/x.parquet", "a=2/x.parquet"]
    assert [file.file for file in list_files("*.parquet").files] == ["plain.parquet"]
    (uri,) = list_files(f"file://{lake}/%C3%A9/d*/*").files
    assert uri.file == f"file://{lake}/%C3%A9/deep/x.parquet"
    assert pruning.collect(f"file:{lake}/a=?/x.parquet")["file"].to_pylist() == [
        f"file:{lake}/a=1/x.parquet",
        f"file:{lake}/a=2/x.parquet",
    ]


def test_what_a_pattern_cannot_mean_is_refused_in_one_sentence(lake: Path) -> None:
    for pattern, sentence in (
        ("zz*", "matches no file"),
        ("[a", "unclosed"),
        ("{a", "unclosed"),
        ("a\\", "backslash"),
        ("{a,b}{c,d}" * 20 + "{e/f,g}" * 20, "too many"),
    ):
        with pytest.raises(InputError, match=sentence):
            pruning.collect(f"{lake}/{pattern}")


def test_spark_reads_a_pattern_that_matches_the_cache(spark: Any, tmp_path: Path) -> None:
    """`table/*` matches `.skipproof`, and Spark reads what it matches."""
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet", row_group_size=1)
    pruning.index(tmp_path)
    pruning.collect(tmp_path)
    frame = spark.read.parquet(f"{tmp_path}/*").where("x = 2")
    assert [row.x for row in pruning.prune(frame).collect()] == [2]
    assert pruning.classify("x = 2", f"{tmp_path}/*").to_pylist() == [0, 2]


def test_prune_takes_the_files_of_a_glob(spark: Any, lake: Path) -> None:
    """The signs in the names of Spark's files are never read as patterns."""
    frame = spark.read.parquet(f"{lake}/b\\[1\\]").where("x = 2")
    assert pruning.prune(frame).collect() == []
    assert pruning.explain(frame).scans[0].files_total == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pruning.classify("x = 1", f"{lake}/a=*").to_pylist() == [2, 2, 2]
