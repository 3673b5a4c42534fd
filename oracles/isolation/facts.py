"""The facts of a history about its transactions and versions."""

from dataclasses import dataclass

import numpy as np

from oracles.isolation.closures import closures
from oracles.isolation.columns import Columns, Kind
from oracles.isolation.lists import Flags, Ints, Lists, last_of_group


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts of a history. Transactions are numbered in ascending order, versions as in the columns.

    Attributes:
        transactions: The numbers of the transactions in the history, ascending. Shape (n,).
        transaction_of: The transaction of each operation.
        committed: Marks the transactions that commit; one that never ends counts as aborted.
        begin: The place of each transaction's first operation.
        end: The place of each transaction's commit or abort; the number of operations if it has none.
        created: The operation that writes or derives each version, or -1.
        written: Marks the versions that are written.
        writer: The transaction that writes each version; -1 for initial and derived ones.
        final: Marks the last version of its object that a transaction writes or derives.
        position: The place of each version in its object's order, or -1.
        before: The previous version in the order, or -1.
        after: The next version in the order, or -1.
        closure: For each version the written or initial ones that it is or derives from.
    """

    columns: Columns
    transactions: Ints
    transaction_of: Ints
    committed: Flags
    begin: Ints
    end: Ints
    created: Ints
    written: Flags
    writer: Ints
    final: Flags
    position: Ints
    before: Ints
    after: Ints
    closure: Lists

    @property
    def is_derived(self) -> Flags:
        """Marks the versions that are derived."""
        return (self.created >= 0) & ~self.written

    def is_installed(self, versions: Ints) -> Flags:
        """Mark versions that are the final ones of a committed transaction of the history."""
        installed: Flags = (self.writer[versions] >= 0) & (self.position[versions] >= 0)
        return installed

    def name(self, transaction: int) -> str:
        """Return the name of a transaction, such as `T5`."""
        return f"T{self.transactions[transaction]}"


def facts_of(columns: Columns) -> Facts:
    """Return the facts that the columns state, without checking them.

    Raises:
        UnusableHistory: Versions derive from each other in a cycle.
    """
    kind, versions = columns.kind, len(columns.object_of)
    transactions, transaction_of = _number_transactions(columns.transaction)
    count = len(transactions)
    places = np.arange(len(kind), dtype=np.int64)
    begin = np.full(count, len(kind), np.int64)
    np.minimum.at(begin, transaction_of, places)
    ends = np.flatnonzero((kind == Kind.COMMIT) | (kind == Kind.ABORT))
    end = np.full(count, len(kind), np.int64)
    end[transaction_of[ends]] = ends
    committed = np.zeros(count, np.bool_)
    committed[transaction_of[kind == Kind.COMMIT]] = True

    writes = np.flatnonzero(kind == Kind.WRITE)
    derivations = np.flatnonzero(kind == Kind.DERIVE)
    created = np.full(versions, -1, np.int64)
    created[columns.subject[writes]] = writes
    created[columns.subject[derivations]] = derivations
    written = np.zeros(versions, np.bool_)
    written[columns.subject[writes]] = True
    writer = np.full(versions, -1, np.int64)
    writer[columns.subject[writes]] = transaction_of[writes]

    makes = np.sort(np.concatenate((writes, derivations)))
    created_versions = columns.subject[makes]
    final = np.zeros(versions, np.bool_)
    final[created_versions] = last_of_group(
        transaction_of[makes] * len(columns.objects) + columns.object_of[created_versions]
    )

    position, before, after = _order_neighbours(columns)
    return Facts(
        columns=columns,
        transactions=transactions,
        transaction_of=transaction_of,
        committed=committed,
        begin=begin,
        end=end,
        created=created,
        written=written,
        writer=writer,
        final=final,
        position=position,
        before=before,
        after=after,
        closure=closures(columns, derivations),
    )


def _number_transactions(transaction: Ints) -> tuple[Ints, Ints]:
    """Return the distinct transaction numbers, ascending, and each operation's index among them."""
    highest = int(transaction.max(initial=0))
    if highest > 8 * len(transaction) + 1024:
        numbers, indexes = np.unique(transaction, return_inverse=True)
        return numbers, indexes.astype(np.int64)
    used = np.zeros(highest + 1, np.bool_)
    used[transaction] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[transaction]


def _order_neighbours(columns: Columns) -> tuple[Ints, Ints, Ints]:
    """Return each version's place in its order, the version before and the version after; -1 for none."""
    position = np.full(len(columns.object_of), -1, np.int64)
    before, after = position.copy(), position.copy()
    objects, places = columns.orders.places(np.arange(len(columns.orders), dtype=np.int64))
    ordered = columns.orders.values[places]
    position[ordered] = places - columns.orders.starts[objects]
    neighbours = np.flatnonzero(objects[1:] == objects[:-1])
    before[ordered[neighbours + 1]] = ordered[neighbours]
    after[ordered[neighbours]] = ordered[neighbours + 1]
    return position, before, after
