"""What a history says of its transactions and versions, once it was found to be a possible one."""

from dataclasses import dataclass

import numpy as np

from oracles.isolation.closures import closures
from oracles.isolation.columns import Columns, Kind
from oracles.isolation.lists import Flags, Ints, Lists, last_of_group


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Transactions are counted from 0 in the order of their numbers; versions as the columns count them.

    Attributes:
        transactions: Their numbers, ascending. Shape (n,).
        transaction_of: The transaction of each operation.
        committed: Whether each transaction commits; one that never ends counts as aborted.
        begin: The place of each transaction's first operation.
        end: The place of each transaction's commit or abort; the number of operations if it has none.
        created: The operation that writes or derives each version, or -1.
        written: Whether each version is written.
        writer: The transaction that writes each version; -1 for initial and derived ones.
        final: Whether each version is the last one of its object that its transaction writes or derives.
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
    def derived(self) -> Flags:
        """Whether each version is derived."""
        return (self.created >= 0) & ~self.written

    def installing(self, versions: Ints) -> Flags:
        """Whether each version is the final one of a committed transaction of the history."""
        found: Flags = (self.writer[versions] >= 0) & (self.position[versions] >= 0)
        return found

    def name(self, transaction: int) -> str:
        """The transaction as `T5`."""
        return f"T{self.transactions[transaction]}"


def facts(columns: Columns) -> Facts:
    """What the columns say, without a check of it.

    Raises:
        UnusableHistory: versions derive from each other in a cycle.
    """
    kind, versions = columns.kind, len(columns.object_of)
    transactions, transaction_of = _numbered(columns.transaction)
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
    made = columns.subject[makes]
    final = np.zeros(versions, np.bool_)
    final[made] = last_of_group(transaction_of[makes] * len(columns.objects) + columns.object_of[made])

    position, before, after = _ordered(columns)
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


def _numbered(transaction: Ints) -> tuple[Ints, Ints]:
    """The numbers of transactions, ascending, and each operation's index among them."""
    highest = int(transaction.max(initial=0))
    if highest > 8 * len(transaction) + 1024:
        numbers, indexes = np.unique(transaction, return_inverse=True)
        return numbers, indexes.astype(np.int64)
    used = np.zeros(highest + 1, np.bool_)
    used[transaction] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[transaction]


def _ordered(columns: Columns) -> tuple[Ints, Ints, Ints]:
    """Of each version: the place in its order, the one before and the one after; -1 where there is none."""
    position = np.full(len(columns.object_of), -1, np.int64)
    before, after = position.copy(), position.copy()
    objects, places = columns.orders.places(np.arange(len(columns.orders), dtype=np.int64))
    ordered = columns.orders.values[places]
    position[ordered] = places - columns.orders.starts[objects]
    neighbours = np.flatnonzero(objects[1:] == objects[:-1])
    before[ordered[neighbours + 1]] = ordered[neighbours]
    after[ordered[neighbours]] = ordered[neighbours + 1]
    return position, before, after
