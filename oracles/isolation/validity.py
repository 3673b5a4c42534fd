"""The check that a history is possible; one clause names the problem, and nothing is guessed.

Source: Adya, Liskov, O'Neil, ICDE 2000, section 4.2 (the conditions on histories and version orders).
"""

import numpy as np

from oracles.isolation.columns import Columns, Kind
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.facts import Facts, facts_of
from oracles.isolation.lists import Flags, Ints, distinct, is_member, last_of_group

_DOES = {
    Kind.BEGIN: "begins",
    Kind.COMMIT: "commits",
    Kind.ABORT: "aborts",
    Kind.READ: "reads",
    Kind.WRITE: "writes",
    Kind.DERIVE: "derives",
    Kind.PREDICATE_READ: "reads by predicate",
}


def validated_facts(columns: Columns) -> Facts:
    """Return the facts of a history, after checking that it is possible.

    Raises:
        UnusableHistory: It is not possible.
    """
    _versions_are_made_once(columns)
    _orders_are_orders(columns)
    facts = facts_of(columns)
    _transactions_are_whole(facts)
    _versions_exist(facts)
    _orders_hold_what_was_installed(facts)
    _reads_follow_writes(facts)
    _predicates_fit(facts)
    return facts


def _first(flags: Flags) -> int | None:
    return int(np.argmax(flags)) if flags.any() else None


def _fail(columns: Columns, problem: str, operation: int | None = None) -> None:
    rows = columns.rows.operations
    raise UnusableHistory(problem, row=None if rows is None or operation is None else int(rows[operation]))


def _fail_order(columns: Columns, problem: str, of_object: int) -> None:
    rows = columns.rows.orders
    raise UnusableHistory(problem, row=None if rows is None else int(rows[of_object]))


def _fail_predicate(columns: Columns, problem: str, predicate: int) -> None:
    rows = columns.rows.predicates
    raise UnusableHistory(problem, row=None if rows is None else int(rows[predicate]))


def _versions_are_made_once(columns: Columns) -> None:
    makes = np.flatnonzero((columns.kind == Kind.WRITE) | (columns.kind == Kind.DERIVE))
    created = columns.subject[makes]
    counts = np.bincount(created, minlength=len(columns.object_of))
    if counts.max(initial=0) < 2:
        return
    of_version = makes[created == np.argmax(counts > 1)]
    first, second = int(of_version[0]), int(of_version[1])
    _fail(
        columns,
        f"T{columns.transaction[second]} {_action(columns, second)}, "
        f"which T{columns.transaction[first]} has already made",
        second,
    )


def _action(columns: Columns, operation: int) -> str:
    kind = Kind(int(columns.kind[operation]))
    subject = int(columns.subject[operation])
    if kind is Kind.PREDICATE_READ:
        return f"{_DOES[kind]} {columns.predicates[subject]}"
    return _DOES[kind] if subject < 0 else f"{_DOES[kind]} {columns.name(subject)}"


def _orders_are_orders(columns: Columns) -> None:
    """Check that each order holds versions of its own object, each once."""
    objects, versions = columns.orders.all()
    foreign = _first(columns.object_of[versions] != objects)
    if foreign is not None:
        of_object, version = int(objects[foreign]), int(versions[foreign])
        _fail_order(
            columns, f"the order of {columns.objects[of_object]} has {columns.name(version)}", of_object
        )
    counts = np.bincount(versions, minlength=len(columns.object_of))
    twice = _first(counts > 1)
    if twice is not None:
        of_object = int(columns.object_of[twice])
        _fail_order(
            columns, f"the order of {columns.objects[of_object]} has {columns.name(twice)} twice", of_object
        )


def _transactions_are_whole(facts: Facts) -> None:
    """Check that a begin comes first, and a commit or abort last and not alone."""
    columns, kind = facts.columns, facts.columns.kind
    places = np.arange(len(kind), dtype=np.int64)
    late = _first((kind == Kind.BEGIN) & (places != facts.begin[facts.transaction_of]))
    if late is not None:
        _fail(columns, f"T{columns.transaction[late]} begins though it has begun", late)
    ends = (kind == Kind.COMMIT) | (kind == Kind.ABORT)
    first_end = np.full(len(facts.transactions), len(kind), np.int64)
    np.minimum.at(first_end, facts.transaction_of[ends], places[ends])
    after = _first(places > first_end[facts.transaction_of])
    if after is not None:
        ended = Kind(int(kind[first_end[facts.transaction_of[after]]]))
        _fail(
            columns,
            f"T{columns.transaction[after]} {_action(columns, after)} after its {ended.name.lower()}",
            after,
        )
    alone = _first(ends & (places == facts.begin[facts.transaction_of]))
    if alone is not None:
        _fail(columns, f"T{columns.transaction[alone]} {_action(columns, alone)} but never began", alone)


def _versions_exist(facts: Facts) -> None:
    """Check that each version read or derived from was created, or is an initial one, first in its order."""
    columns = facts.columns
    exists = (facts.created >= 0) | (facts.position == 0)
    objects, versions = columns.orders.all()
    unmade = _first(~exists[versions])
    if unmade is not None:
        _fail_order(
            columns,
            f"the order of {columns.objects[int(objects[unmade])]} has, though not first, "
            f"{columns.name(int(versions[unmade]))}, which nobody writes or derives",
            int(objects[unmade]),
        )
    reads = np.flatnonzero(columns.kind == Kind.READ)
    missing = _first(~exists[columns.subject[reads]])
    if missing is not None:
        operation = int(reads[missing])
        _fail_missing(columns, operation, "reads", int(columns.subject[operation]))
    owners, listed = columns.lists.all()
    missing = _first(~exists[listed])
    if missing is not None:
        operation = int(owners[missing])
        verb = "derives from" if columns.kind[operation] == Kind.DERIVE else "reads by predicate"
        _fail_missing(columns, operation, verb, int(listed[missing]))


def _fail_missing(columns: Columns, operation: int, verb: str, version: int) -> None:
    _fail(
        columns,
        f"T{columns.transaction[operation]} {verb} {columns.name(version)}, which nobody writes or derives "
        f"and which is not first in the order of {columns.objects[int(columns.object_of[version])]}",
        operation,
    )


def _orders_hold_what_was_installed(facts: Facts) -> None:
    """Check that orders hold each committed transaction's last version, and none of its earlier writes.

    A derivation installs nothing, so that a transaction's earlier derivations, and those of one that aborts,
    may be in the order or not.
    """
    columns = facts.columns
    makes = np.flatnonzero((columns.kind == Kind.WRITE) | (columns.kind == Kind.DERIVE))
    created = columns.subject[makes]
    final = facts.final[created]
    committed = facts.committed[facts.transaction_of[makes]]
    lacking = _first(final & committed & (facts.position[created] < 0))
    if lacking is not None:
        version = int(created[lacking])
        _fail(
            columns,
            f"T{columns.transaction[makes[lacking]]} commits {columns.name(version)}, which the order of "
            f"{columns.objects[int(columns.object_of[version])]} lacks",
            int(makes[lacking]),
        )
    stray = facts.written[created] & (facts.position[created] >= 0) & ~(final & committed)
    wrong = _first(stray)
    if wrong is not None:
        version, transaction = int(created[wrong]), columns.transaction[makes[wrong]]
        why = (
            f"T{transaction} made another after it" if committed[wrong] else f"T{transaction} did not commit"
        )
        of_object = int(columns.object_of[version])
        _fail_order(
            columns,
            f"the order of {columns.objects[of_object]} has {columns.name(version)}, but {why}",
            of_object,
        )


def _reads_follow_writes(facts: Facts) -> None:
    """Check that no version is read before its sources are written; its derivation may come later."""
    columns = facts.columns
    reads = np.flatnonzero(columns.kind == Kind.READ)
    _no_read_before(facts, reads, columns.subject[reads])
    predicate_reads = np.flatnonzero(columns.kind == Kind.PREDICATE_READ)
    owners, versions = columns.lists.expand(predicate_reads)
    _no_read_before(facts, predicate_reads[owners], versions)


def _no_read_before(facts: Facts, operations: Ints, versions: Ints) -> None:
    owners, bases = facts.closure.expand(versions)
    early = _first(facts.written[bases] & (facts.created[bases] > operations[owners]))
    if early is None:
        return
    columns, base = facts.columns, int(bases[early])
    operation, version = int(operations[owners[early]]), int(versions[owners[early]])
    read = columns.name(version)
    if version != base:
        read += f", which derives from {columns.name(base)},"
    written = "it" if version == base else columns.name(base)
    _fail(
        columns,
        f"T{columns.transaction[operation]} reads {read} before {facts.name(int(facts.writer[base]))} "
        f"writes {written}",
        operation,
    )


def _predicates_fit(facts: Facts) -> None:
    """Check that version sets and matching versions are in the predicate's domain, one per object."""
    columns = facts.columns
    if not len(columns.predicates):
        return
    width = len(columns.objects)
    predicates, objects = columns.domains.all()
    domain = distinct(predicates * width + objects)
    predicates, versions = columns.matching.all()
    exists = (facts.created >= 0) | (facts.position == 0)
    wrong = _first(~exists[versions] | ~is_member(predicates * width + columns.object_of[versions], domain))
    if wrong is not None:
        version, predicate = int(versions[wrong]), int(predicates[wrong])
        why = "of an object it does not range over" if exists[version] else "which nobody writes or derives"
        _fail_predicate(
            columns, f"{columns.predicates[predicate]} matches {columns.name(version)}, {why}", predicate
        )
    reads = np.flatnonzero(columns.kind == Kind.PREDICATE_READ)
    owners, versions = columns.lists.expand(reads)
    objects = columns.object_of[versions]
    wrong = _first(~is_member(columns.subject[reads[owners]] * width + objects, domain))
    if wrong is not None:
        _fail_version_set(
            columns, int(reads[owners[wrong]]), f"{columns.name(int(versions[wrong]))}, of no object of it"
        )
    wrong = _first(~last_of_group(owners * width + objects))
    if wrong is not None:
        name = columns.objects[int(objects[wrong])]
        _fail_version_set(columns, int(reads[owners[wrong]]), f"two versions of {name}")


def _fail_version_set(columns: Columns, operation: int, what: str) -> None:
    _fail(
        columns, f"T{columns.transaction[operation]} {_action(columns, operation)} and sees {what}", operation
    )
