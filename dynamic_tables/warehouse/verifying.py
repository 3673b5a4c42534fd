"""The promise of dynamic tables, checked: contents are the result of the query at the data timestamp."""

from dataclasses import dataclass

from dynamic_tables.catalog.entities import Entity
from dynamic_tables.on_spark.changes import remove_unchanged
from dynamic_tables.on_spark.frames import ROW_ID, RowFrame, frame_of, union_of
from dynamic_tables.storage.frontiers import agree
from dynamic_tables.storage.versions import Purged
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.values.cells import exact_key
from dynamic_tables.values.changes import Contents
from dynamic_tables.warehouse.accounts import WarehouseAccount


@dataclass(frozen=True, slots=True)
class Verdict:
    """The comparison of a table's contents with its query at its data timestamp.

    Attributes:
        checked: False if that could not be computed; `detail` has the reason.
        wrong_count: The number of rows, by id, that are missing, too many or different.
        detail: An example of a wrong row, or the reason why nothing was compared.
    """

    name: str
    checked: bool
    wrong_count: int = 0
    detail: str = ""


def verify(account: WarehouseAccount, entity: Entity) -> Verdict:
    """Compute a table's query at its data timestamp, and compare the rows and their ids."""
    table = account.tables[entity.identity]
    with account.database.transaction():
        account.catch_up()
        frontier, head = table.frontier, table.latest
        dependencies = account.engine.dependencies(account.catalog.state, entity)
    if frontier is None:
        return Verdict(entity.name, False, detail="it is not initialized yet")
    if not agree(frontier.dependencies, dependencies):
        return Verdict(entity.name, False, detail="its definition is another since its last refresh")
    try:
        sources = {
            source: account.tables[source].rows(read.number, dependencies.layouts[source])
            for source, read in frontier.versions.items()
        }
    except Purged as error:
        return Verdict(entity.name, False, detail=f"a source's {error}")
    rows_max = account.backend.limits.full_rows
    computed = account.backend.full(dependencies.query.at(frontier.data_us), sources).rows
    held = table.rows(head.number)
    if isinstance(computed, RowFrame) or held.written_count > rows_max:
        return verdict_of_frames(account, entity.name, computed, held)
    return verdict_of_rows(entity.name, computed, held.few_contents(rows_max))


def verdict_of_rows(name: str, computed: Contents, held: Contents) -> Verdict:
    """Compare rows in Python."""
    wrong = [
        row_id
        for row_id in {*computed, *held}
        if row_id not in computed
        or row_id not in held
        or exact_key(computed[row_id]) != exact_key(held[row_id])
    ]
    if not wrong:
        return Verdict(name, True)
    first = min(wrong)
    detail = f"row {first} is {held.get(first)} and should be {computed.get(first)}"
    return Verdict(name, True, len(wrong), detail)


def verdict_of_frames(
    account: WarehouseAccount, name: str, computed: Contents | RowFrame, held: VersionRows
) -> Verdict:
    """Compare rows by Spark."""
    spark = account.backend.on_spark().spark
    held_rows = held.frame(spark)
    if not isinstance(computed, RowFrame):
        computed = frame_of(spark, computed, held_rows.types)
    wrong = remove_unchanged(union_of([held_rows.with_end(True), computed.with_end(False)]))
    row_ids = wrong.data.select(ROW_ID).distinct()
    first = row_ids.head()
    return Verdict(name, True) if first is None else Verdict(name, True, row_ids.count(), f"row {first[0]}")
