"""The answers that are fetched of a plan's nodes together are those that Java gives one by one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from py4j.protocol import Py4JError

import pruning
from mutants.prefetched import MUTANTS
from pruning.spark.jvm import compiling, prefetched
from pruning.spark.jvm.gateway import Java
from pruning.spark.jvm.prefetched import Prefetched, with_answers
from pruning.spark.lake.leaf_copies import with_option

OPTION = "skipproof.leaf"
QUERIES = (
    "SELECT * FROM flights WHERE id = 5 AND (name LIKE 'a%' OR altitude < 1.5D) LIMIT 3 OFFSET 1",
    "SELECT id + 1 AS i, name AS n FROM flights WHERE day < DATE'2013-01-05' ORDER BY name DESC, i LIMIT 4",
    "SELECT unit, count(*) FROM (SELECT * FROM flights UNION ALL SELECT * FROM flights) GROUP BY unit",
    "SELECT a.id FROM flights a JOIN flights b ON a.id = b.delay WHERE a.id IN (SELECT delay FROM flights)",
    "SELECT x FROM flights LATERAL VIEW explode(array(id)) AS x WHERE x > (SELECT max(delay) FROM flights)",
    # Too many CASEs for their JSON, and more members of a list than are printed.
    f"SELECT id FROM flights WHERE {'CASE WHEN id > 1 THEN ' * 7}TRUE{' ELSE FALSE END' * 7}",
    f"SELECT id FROM flights WHERE id IN ({', '.join(map(str, range(200)))}) AND unit <> 'é\U0001f600'",
)


@pytest.fixture(autouse=True)
def views(spark: Any, flights: str) -> None:
    """The table under a name."""
    spark.read.parquet(flights).createOrReplaceTempView("flights")


def plans(spark: Any, query: str) -> Iterator[Java]:
    """Yield the analyzed and the optimized plan of a query; a leaf of the latter has the option."""
    execution = spark.sql(query)._jdf.queryExecution()
    yield execution.analyzed()
    yield execution.optimizedPlan()
    leaf = spark.sql("SELECT * FROM flights")._jdf.queryExecution().optimizedPlan()
    yield with_option(spark, leaf, OPTION, "3")


def check_answers(java: Any, place: str) -> int:
    """Compare all answers of an object, and of its answers, with Java's; return their number."""
    count = 0
    for key in java._answers:
        if key in ("#", "="):
            continue
        name, mark, argument = key.partition("|")
        arguments: list[Any] = [int(argument) if name == "apply" else argument] if mark else []
        here = f"{place}.{key}"
        answer = getattr(java, name)(*arguments)
        expected = getattr(java._object(), name)(*arguments)
        if isinstance(answer, Prefetched):
            assert answer._object().equals(expected), here
            count += check_answers(answer, here)
        else:
            assert answer == expected, here
        count += 1
    return count


def check_plans(spark: Any, query: str) -> None:
    for plan in plans(spark, query):
        for expressions, least in (False, 10), (True, 20):
            java = with_answers(spark, plan, OPTION, expressions=expressions)
            assert isinstance(java, Prefetched)
            assert java._object().equals(plan)
            assert check_answers(java, "plan") > least
    assert java.relation().options().get(OPTION).get() == "3"
    assert java.relation().options().get("another").isEmpty()


@pytest.mark.parametrize("query", QUERIES)
def test_each_answer_is_javas(spark: Any, query: str) -> None:
    check_plans(spark, query)


def test_what_is_not_answered_is_asked_for(spark: Any) -> None:
    plan = spark.sql(QUERIES[0])._jdf.queryExecution().optimizedPlan()
    java = with_answers(spark, plan, OPTION)
    assert java.semanticHash() == plan.semanticHash()
    assert java.children().apply(0).treeString() == plan.children().apply(0).treeString()
    assert java.sameResult(java)
    assert not java.containsChild().isEmpty()
    assert not hasattr(java, "Java")


class _FailingReader:
    """Java's side, whose stack is too small for each plan."""

    def of(self, *arguments: Any) -> "_FailingReader":
        return self

    def read(self, plan: Java) -> str:
        raise Py4JError("java.lang.StackOverflowError")


def test_a_plan_that_java_cannot_read_at_once_is_itself(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefetched, "optional_instance", lambda *arguments, **options: _FailingReader())
    plan = spark.range(5)._jdf.queryExecution().analyzed()
    assert with_answers(spark, plan, OPTION) is plan


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_prefetched_plans_is_found_out(
    name: str, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises((AssertionError, Py4JError)):
        check_plans(spark, QUERIES[1])


@pytest.mark.parametrize("query", QUERIES)
def test_a_java_process_that_compiles_nothing_prunes_as_much(
    spark: Any, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each node is then asked for alone."""
    frame = spark.sql(query)
    report, rows = pruning.explain(frame), pruning.prune(frame).collect()

    def refuse(*arguments: Any) -> None:
        return None

    monkeypatch.setattr(compiling, "_compile_if_possible", refuse)
    assert with_answers(spark, frame._jdf, OPTION) is frame._jdf
    assert sorted(map(str, pruning.prune(frame).collect())) == sorted(map(str, rows))
    unread = [replace(scan, rows_read=None) for scan in pruning.explain(frame).scans]
    assert unread == list(report.scans)


def test_a_class_that_cannot_be_compiled_is_none(spark: Any) -> None:
    assert compiling.optional_instance(spark, "NoSuchClass") is None
    assert compiling.optional_instance(spark, prefetched.ANSWERS, package="pruning.spark.lake") is None
