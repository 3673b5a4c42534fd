"""Users: statements, transactions that write, and transactions that read."""

import random
from collections.abc import Iterable

from dynamic_tables.catalog.entities import Entity, EntityKind, StoredColumn
from dynamic_tables.storage.clock import Clock
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.changes import Action, Cell, Change, Delta, Row, RowId
from dynamic_tables.values.types import Kind as TypeKind
from pruning.errors import InputError
from sim.refreshes import events as trace_events
from sim.refreshes.cloud import Cloud, Waits
from sim.refreshes.model import Reader, Statement, Writer
from sim.refreshes.recording import Observation, Transaction


class Users:
    """All users of one account."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self._rows = 0

    def executes(self, statement: Statement) -> Waits:
        """Execute one statement at its time."""
        yield self.cloud.env.timeout(statement.at_us)
        self.cloud.execute(statement.sql, statement.node)

    def writes(self, writer: Writer, number: int) -> Waits:
        """Run transactions that change a table until users stop. Waits on the clock."""
        cloud = self.cloud
        stream = cloud.draws.stream(f"writer/{number}")
        until_us = writer.until_us or cloud.setup.world.until_us
        yield cloud.env.timeout(writer.from_us)
        while cloud.now_us < until_us:
            wait_us = writer.every_us if writer.regular else self._around(stream, writer.every_us)
            yield cloud.env.timeout(wait_us)
            if not cloud.troubles.is_down(writer.node):
                try:
                    yield from self._write(writer, stream)
                except InputError:
                    continue  # the table is gone for a while

    def reads(self, reader: Reader, number: int) -> Waits:
        """Run transactions that read, to the end. Waits on the clock."""
        cloud = self.cloud
        stream = cloud.draws.stream(f"reader/{number}")
        yield cloud.env.timeout(reader.from_us)
        while True:
            yield cloud.env.timeout(self._around(stream, reader.every_us))
            if not cloud.troubles.is_down(reader.node):
                with cloud.asserting:
                    self._read(reader)

    def _around(self, stream: random.Random, every_us: int) -> int:
        return stream.randint(every_us // 2, every_us + every_us // 2)

    # Transactions

    def _read(self, reader: Reader) -> None:
        cloud = self.cloud
        clock = cloud.clocks[reader.node]
        transaction = cloud.record.begin_transaction()
        began_us = clock.tick(cloud.clocks.wall_us(reader.node)).physical_us
        for name in reader.tables:
            try:
                self._see(name, transaction, clock, began_us)
            except (InputError, LookupError):
                continue  # not there yet, or not initialized
        transaction.ended = clock.tick(cloud.clocks.wall_us(reader.node))

    def _see(self, name: str, transaction: Transaction, clock: Clock, began_us: int) -> None:
        """Read a base table as of the transaction's begin, or a dynamic table as it is now.

        The node's clock then passes what was read.
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
            trace_events.ReadDone(
                at_us=now, transaction=transaction.number, table=entity.identity, data_us=data_us,
                lag_us=now - data_us,
            )
        )  # fmt: skip
        if cloud.setup.checked:
            sight = Observation(at_us=now, table=entity.identity, data_us=data_us, contents=dict(contents))
            cloud.record.sights.append(sight)

    def _write(self, writer: Writer, stream: random.Random) -> Waits:
        """Run one transaction; it is aborted if another changed its table since it began."""
        cloud = self.cloud
        clock = cloud.clocks[writer.node]
        transaction = cloud.record.begin_transaction()
        entity = cloud.account.catalog.state.get(writer.table)
        if entity.kind is not EntityKind.TABLE:
            raise InputError(f"{writer.table} is no base table")
        began_us = clock.tick(cloud.clocks.wall_us(writer.node)).physical_us
        for name in writer.reads:
            try:
                self._see(name, transaction, clock, began_us)
            except (InputError, LookupError):
                continue
        try:
            began = cloud.account.tables[entity.identity].read_at(began_us).number
        except LookupError:
            return  # the table came later, by this node's clock
        yield cloud.env.timeout(writer.think_us)
        now = cloud.account.catalog.state.get(writer.table)
        if cloud.account.tables[entity.identity].latest.number != began or now.identity != entity.identity:
            cloud.emit(
                trace_events.Wrote(
                    at_us=cloud.now_us, transaction=transaction.number, table=entity.identity, rows=0,
                    aborted=True,
                )
            )  # fmt: skip
            return
        delta = self._changes(writer, now, stream)
        self._commit(writer.table, delta, transaction, writer.node)

    def _commit(self, name: str, delta: Delta, transaction: Transaction, node: int) -> None:
        cloud = self.cloud
        with cloud.asserting:
            committed = cloud.account.write(
                {name: delta}, clock=cloud.clocks[node], wall_us=cloud.clocks.wall_us(node)
            )
            identity = cloud.account.catalog.state.get(name).identity
            table = cloud.account.tables[identity]
            cloud.record.add_base_version(identity, committed, table.contents(table.latest.number))
            transaction.writes.append((identity, str(table.latest.number)))
            transaction.ended = committed
            cloud.emit(
                trace_events.Wrote(
                    at_us=cloud.now_us, transaction=transaction.number, table=identity, rows=len(delta),
                    aborted=False,
                )
            )  # fmt: skip

    # Rows

    def _changes(self, writer: Writer, entity: Entity, stream: random.Random) -> Delta:
        table = self.cloud.account.tables[entity.identity]
        held = table.contents(table.latest.number)
        ids = list(held)
        deleted = ids[: max(0, len(ids) + writer.inserts - writer.rows_max)]
        left = ids[len(deleted) :]
        chosen = stream.sample(left, min(len(left), writer.deletes + writer.updates))
        deleted += chosen[: writer.deletes]
        updated = chosen[writer.deletes :]
        gone = [Change(Action.DELETE, row_id, held[row_id]) for row_id in [*deleted, *updated]]
        come = [
            Change(Action.INSERT, row_id, self._row(writer, entity.columns, entity.column_count, stream))
            for row_id in [*updated, *(self._row_id() for _ in range(writer.inserts))]
        ]
        return (*gone, *come)

    def _row_id(self) -> RowId:
        self._rows += 1
        return f"r{self._rows}"

    def _row(self, writer: Writer, columns: Iterable[StoredColumn], width: int, stream: random.Random) -> Row:
        cells: list[Cell] = [None] * width
        for column in columns:
            if stream.random() * 100 >= writer.nulls_percent:
                cells[column.position] = _cell(column.field.type.kind, stream, writer)
        return tuple(cells)

    def poison(self, name: str, node: int) -> tuple[TableId, RowId] | None:
        """Insert a row of zeros into a table; return its place, or None if there is no such base table."""
        entity = self.cloud.account.catalog.state.find(name)
        if entity is None or entity.kind is not EntityKind.TABLE:
            return None
        row_id = self._row_id()
        cells: list[Cell] = [None] * entity.column_count
        for column in entity.columns:
            cells[column.position] = "" if column.field.type.kind is TypeKind.TEXT else 0
        delta = (Change(Action.INSERT, row_id, tuple(cells)),)
        self._commit(name, delta, self.cloud.record.begin_transaction(), node)
        return entity.identity, row_id

    def heal(self, place: tuple[TableId, RowId], node: int) -> None:
        """Delete such a row again, whatever the name of its table is now."""
        identity, row_id = place
        entity = self.cloud.account.catalog.state.entities.get(identity)
        if entity is None:
            return
        table = self.cloud.account.tables[identity]
        held = table.contents(table.latest.number)
        if row_id in held:
            delta = (Change(Action.DELETE, row_id, held[row_id]),)
            self._commit(entity.name, delta, self.cloud.record.begin_transaction(), node)


def _cell(kind: TypeKind, stream: random.Random, writer: Writer) -> Cell:
    """Draw a cell of a type."""
    number = stream.randint(1, writer.values)
    match kind:
        case TypeKind.TEXT:
            return "abcdefghijklmnopqrstuvwxyz"[(number - 1) % 26] * (1 + (number - 1) // 26)
        case TypeKind.BOOLEAN:
            return number % 2 == 0
        case TypeKind.FLOAT:
            return number / 4
        case TypeKind.OBJECT | TypeKind.VARIANT:
            return {name: stream.randint(1, writer.values) for name in writer.fields}
        case _:
            return number
