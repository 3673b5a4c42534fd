"""Users: statements, transactions that write, and transactions that read."""

import random
from collections.abc import Iterable

from dynamic_tables.catalog.entities import Entity, EntityKind, StoredColumn
from dynamic_tables.storage.clock import Clock
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.changes import Action, Cell, Change, Delta, Row, RowId
from dynamic_tables.values.types import Kind as TypeKind
from pruning.errors import InputError
from sim.refreshes import events as told
from sim.refreshes.cloud import Cloud, Waits
from sim.refreshes.model import Reader, Statement, Writer
from sim.refreshes.recording import Sight, Transaction


class Users:
    """All users of one account."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._rows = 0

    def executes(self, given: Statement) -> Waits:
        """One statement at its time."""
        yield self.cloud.env.timeout(given.at_us)
        self.cloud.execute(given.sql, given.node)

    def writes(self, given: Writer, number: int) -> Waits:
        """Transactions that change a table, until users stop. Waits on the clock."""
        cloud = self.cloud
        stream = cloud.draws.stream(f"writer/{number}")
        until_us = given.until_us or cloud.setup.world.until_us
        yield cloud.env.timeout(given.from_us)
        while cloud.now_us < until_us:
            wait_us = given.every_us if given.regular else self._around(stream, given.every_us)
            yield cloud.env.timeout(wait_us)
            if not cloud.troubles.down(given.node):
                try:
                    yield from self._write(given, stream)
                except InputError:
                    continue  # the table is gone for a while

    def reads(self, given: Reader, number: int) -> Waits:
        """Transactions that read, to the end. Waits on the clock."""
        cloud = self.cloud
        stream = cloud.draws.stream(f"reader/{number}")
        yield cloud.env.timeout(given.from_us)
        while True:
            yield cloud.env.timeout(self._around(stream, given.every_us))
            if not cloud.troubles.down(given.node):
                with cloud.asserting:
                    self._read(given)

    def _around(self, stream: random.Random, every_us: int) -> int:
        return stream.randint(every_us // 2, every_us + every_us // 2)

    # Transactions

    def _read(self, given: Reader) -> None:
        cloud = self.cloud
        clock = cloud.clocks[given.node]
        transaction = cloud.record.begun()
        began_us = clock.tick(cloud.wall_us(given.node)).physical_us
        for name in given.tables:
            try:
                self._see(name, transaction, clock, began_us)
            except (InputError, LookupError):
                continue  # not there yet, or not initialized
        transaction.ended = clock.tick(cloud.wall_us(given.node))

    def _see(self, name: str, transaction: Transaction, clock: Clock, began_us: int) -> None:
        """Read a base table as it was when the transaction began, a dynamic table as it is now.

        The node's clock passes what is read.
        """
        cloud = self.cloud
        contents = cloud.account.read(name)
        entity = cloud.account.catalog.state.get(name)
        table = cloud.account.tables[entity.identity]
        if entity.kind is not EntityKind.DYNAMIC_TABLE:
            transaction.reads.append((entity.identity, str(table.read_at(began_us).number)))
            return
        assert table.frontier is not None, "it could be read"
        data_us, now = table.frontier.data_us, cloud.now_us
        clock.receive(table.frontier.committed)
        transaction.reads.append((entity.identity, f"d{data_us}"))
        cloud.emit(
            told.ReadDone(
                at_us=now, transaction=transaction.number, table=entity.identity, data_us=data_us,
                lag_us=now - data_us,
            )
        )  # fmt: skip
        if cloud.setup.checked:
            sight = Sight(at_us=now, table=entity.identity, data_us=data_us, contents=dict(contents))
            cloud.record.sights.append(sight)

    def _write(self, given: Writer, stream: random.Random) -> Waits:
        """One transaction; it is aborted if another changed its table since it began."""
        cloud = self.cloud
        clock = cloud.clocks[given.node]
        transaction = cloud.record.begun()
        entity = cloud.account.catalog.state.get(given.table)
        if entity.kind is not EntityKind.TABLE:
            raise InputError(f"{given.table} is no base table")
        began_us = clock.tick(cloud.wall_us(given.node)).physical_us
        for name in given.reads:
            try:
                self._see(name, transaction, clock, began_us)
            except (InputError, LookupError):
                continue
        try:
            began = cloud.account.tables[entity.identity].read_at(began_us).number
        except LookupError:
            return  # the table came later, by this node's clock
        yield cloud.env.timeout(given.think_us)
        now = cloud.account.catalog.state.get(given.table)
        if cloud.account.tables[entity.identity].latest.number != began or now.identity != entity.identity:
            cloud.emit(
                told.Wrote(
                    at_us=cloud.now_us, transaction=transaction.number, table=entity.identity, rows=0,
                    aborted=True,
                )
            )  # fmt: skip
            return
        delta = self._changes(given, now, stream)
        self._commit(given.table, delta, transaction, given.node)

    def _commit(self, name: str, delta: Delta, transaction: Transaction, node: int) -> None:
        cloud = self.cloud
        with cloud.asserting:
            committed = cloud.account.write(
                {name: delta}, clock=cloud.clocks[node], wall_us=cloud.wall_us(node)
            )
            identity = cloud.account.catalog.state.get(name).identity
            table = cloud.account.tables[identity]
            cloud.record.wrote(identity, committed, table.contents(table.latest.number))
            transaction.writes.append((identity, str(table.latest.number)))
            transaction.ended = committed
            cloud.emit(
                told.Wrote(
                    at_us=cloud.now_us, transaction=transaction.number, table=identity, rows=len(delta),
                    aborted=False,
                )
            )  # fmt: skip

    # Rows

    def _changes(self, given: Writer, entity: Entity, stream: random.Random) -> Delta:
        table = self.cloud.account.tables[entity.identity]
        held = table.contents(table.latest.number)
        ids = list(held)
        deleted = ids[: max(0, len(ids) + given.inserts - given.rows_max)]
        left = ids[len(deleted) :]
        chosen = stream.sample(left, min(len(left), given.deletes + given.updates))
        deleted += chosen[: given.deletes]
        updated = chosen[given.deletes :]
        gone = [Change(Action.DELETE, row_id, held[row_id]) for row_id in [*deleted, *updated]]
        come = [
            Change(Action.INSERT, row_id, self._row(given, entity.columns, entity.column_count, stream))
            for row_id in [*updated, *(self._row_id() for _ in range(given.inserts))]
        ]
        return (*gone, *come)

    def _row_id(self) -> RowId:
        self._rows += 1
        return f"r{self._rows}"

    def _row(self, given: Writer, columns: Iterable[StoredColumn], width: int, stream: random.Random) -> Row:
        cells: list[Cell] = [None] * width
        for column in columns:
            if stream.random() * 100 >= given.nulls_percent:
                cells[column.position] = _cell(column.field.type.kind, stream, given)
        return tuple(cells)

    def poison(self, name: str, node: int) -> tuple[TableId, RowId] | None:
        """Put a row of zeros into a table; None if there is no such base table."""
        entity = self.cloud.account.catalog.state.find(name)
        if entity is None or entity.kind is not EntityKind.TABLE:
            return None
        row_id = self._row_id()
        cells: list[Cell] = [None] * entity.column_count
        for column in entity.columns:
            cells[column.position] = "" if column.field.type.kind is TypeKind.TEXT else 0
        delta = (Change(Action.INSERT, row_id, tuple(cells)),)
        self._commit(name, delta, self.cloud.record.begun(), node)
        return entity.identity, row_id

    def heal(self, place: tuple[TableId, RowId], node: int) -> None:
        """Take the row away again, wherever its table is now."""
        identity, row_id = place
        entity = self.cloud.account.catalog.state.entities.get(identity)
        if entity is None:
            return
        table = self.cloud.account.tables[identity]
        held = table.contents(table.latest.number)
        if row_id in held:
            delta = (Change(Action.DELETE, row_id, held[row_id]),)
            self._commit(entity.name, delta, self.cloud.record.begun(), node)


def _cell(kind: TypeKind, stream: random.Random, given: Writer) -> Cell:
    """A cell of a type."""
    number = stream.randint(1, given.values)
    match kind:
        case TypeKind.TEXT:
            return "abcdefghijklmnopqrstuvwxyz"[(number - 1) % 26] * (1 + (number - 1) // 26)
        case TypeKind.BOOLEAN:
            return number % 2 == 0
        case TypeKind.FLOAT:
            return number / 4
        case TypeKind.OBJECT | TypeKind.VARIANT:
            return {name: stream.randint(1, given.values) for name in given.fields}
        case _:
            return number
