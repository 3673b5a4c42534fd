"""The small engine is right and prunes; its mutants cover the known classes of faults and die."""

import re
from collections import Counter
from collections.abc import Sequence

import pytest

from mutants.small_engine.catalogue import MUTANTS
from mutants.small_engine.mutating import Mutant
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.reach.data_classes import DATA_CLASSES
from skipproof.stand.hunt.reach.query_classes import QUERY_CLASSES
from skipproof.stand.reference.engine import AREAS_OF_FILES, SmallEngine
from skipproof.stand.reference.pruning import Rules
from skipproof.stand.reference.tables import AvailableStatistics, Group, Partition, from_blocks
from strategies.engines.questions import Json

SEED = 7
EXAMPLES = 400
MUTANTS_MIN = 130
# What each area saves when it prunes.
SAVED = {
    "filter": {"row groups", "pages", "filters"},
    "limit": {"row groups", "row groups by a limit"},
    "topk": {"row groups", "row groups by an order"},
    "join": {"row groups by a join"},
    "aggregate": {"row groups", "row groups by aggregates"},
    "window": {"row groups", "row groups by an order"},
    "set": {"row groups", "row groups by a join", "row groups by memory"},
    "subquery": {"row groups", "row groups by aggregates"},
    "dml": {"files kept", "files dropped"},
}
# The classes of questions beside those of published bugs.
MORE_CLASSES = {"WINDOW", "SET", "SUBQUERY", "CACHE"}
CLASSES = {*DATA_CLASSES, *QUERY_CLASSES, *MORE_CLASSES}
# Classes without a mutant, each with the reason. A class may leave this list, and none may join it.
NOT_COVERED: dict[str, str] = {}
# Mutants that die soon, each with the questions that kill it.
FAST = {
    "nulls beside a dictionary": "filter",
    "never false is true": "filter",
    "nulls differ": "filter",
    "unstated is null": "filter",
    "lower for upper": "filter",
    "first row is passed": "filter",
    "nothing is least": "aggregate",
    "nullif adds no null": "filter",
    "partition is ignored": "window",
    "nulls of sets differ": "set",
    "exists is null": "subquery",
    "part is remembered": "limit",
    "unset limit is zero": "topk",
}


def _hunt(engine: SmallEngine, area: str, examples_max: int) -> Hunt:
    return hunt(engine, capabilities(engine, areas=(area,)), Limits(examples=examples_max), hunt_seed=SEED)


def _differences(found: Hunt) -> list[str]:
    return [str(finding.outcome.contradiction) for finding in found.findings]


@pytest.mark.parametrize("area", SAVED)
def test_the_small_engine_never_contradicts_itself_and_prunes(area: str) -> None:
    """Without what it saves, its answers could be right because nothing is ever pruned."""
    engine = SmallEngine(tables="files" if area in AREAS_OF_FILES else "own")
    found = _hunt(engine, area, EXAMPLES)
    assert _differences(found) == []
    assert found.examples >= EXAMPLES
    assert not found.refused
    assert {name for name in SAVED[area] if not engine.rules.saved[name]} == set()


def test_the_catalogue_has_enough_mutants_each_of_one_name() -> None:
    assert len(MUTANTS) >= MUTANTS_MIN
    assert [name for name, count in Counter(mutant.name for mutant in MUTANTS).items() if count > 1] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_names_its_thread_and_replaces_a_method(mutant: Mutant) -> None:
    assert re.match(r"[\w.-]+/[\w.-]+#\d+: \S", mutant.cause)
    assert getattr(type(mutant.engine().rules), mutant.method) is not getattr(Rules, mutant.method)
    assert mutant.classes <= CLASSES


def test_mutants_cover_every_class_but_those_with_a_reason() -> None:
    covered = frozenset[str]().union(*(mutant.classes for mutant in MUTANTS))
    assert CLASSES - covered == NOT_COVERED.keys()


@pytest.mark.parametrize("name", FAST)
def test_the_hunt_kills_mutants(name: str) -> None:
    (mutant,) = (one for one in MUTANTS if one.name == name)
    engine = mutant.engine()
    limits = Limits(examples=1_000, findings=1, worlds_to_shrink=0)
    state = hunt(engine, capabilities(engine, areas=(FAST[name],)), limits, hunt_seed=SEED)
    assert state.findings


def test_each_group_of_a_partitioned_table_has_the_rows_of_one_value() -> None:
    groups = _groups_of_partitions([[1, 2, 1], [None, 2]])
    assert [group.rows for group in groups] == [[(1, 0), (1, 2)], [(2, 1)], [(None, 0)], [(2, 1)]]
    assert [group.chunks[0].cells for group in groups] == [[1, 1], [2], [None], [2]]
    assert [group.chunks[0].partition for group in groups] == [
        Partition("identity", value) for value in (1, 2, None, 2)
    ]
    assert all(group.chunks[1].partition is None for group in groups)


def test_a_table_of_thousands_of_values_is_not_partitioned() -> None:
    """A question of such a table would take minutes: it would have a group for each row."""
    assert [len(group.rows) for group in _groups_of_partitions([list(range(2_000))])] == [2_000]


def _groups_of_partitions(blocks: list[list[Json]]) -> Sequence[Group]:
    """The groups of a table that is partitioned by its first column."""
    table = {
        "columns": [{"name": "a", "type": "int32"}, {"name": "rid", "type": "int64"}],
        "blocks": [[[cell, row] for row, cell in enumerate(cells)] for cells in blocks],
    }
    opened = from_blocks(table, AvailableStatistics())
    return SmallEngine().with_settings(opened, {"partitions": "identity"}).groups
