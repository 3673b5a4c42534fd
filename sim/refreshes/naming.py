"""The names of tables as people read them; pure functions of a run."""

from collections import Counter
from collections.abc import Mapping

from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.events import Named
from sim.refreshes.run import RefreshRun


def display_names(run: RefreshRun) -> Mapping[TableId, str]:
    """Return the last name of each table, view or dynamic table.

    The schema is omitted if there is only one. If several had the same name last, those that were dropped are
    shown with their identities.
    """
    last = {event.table: event.name for event in run.trace if isinstance(event, Named)}
    has_one_schema = len({name.rpartition(".")[0] for name in last.values()}) == 1
    names = {table: name.rpartition(".")[2] if has_one_schema else name for table, name in last.items()}
    count = Counter(names.values())
    there = run.record.states[-1].state.entities if run.record.states else {}
    return {
        table: name if count[name] == 1 or table in there else f"{name} ({table})"
        for table, name in names.items()
    }
