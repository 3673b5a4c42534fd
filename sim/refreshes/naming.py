"""What tables are called for people: pure functions of a run."""

from collections import Counter
from collections.abc import Mapping

from dynamic_tables.storage.frontiers import TableId
from sim.refreshes.events import Named
from sim.refreshes.run import Run


def named(run: Run) -> Mapping[TableId, str]:
    """The name under which each table, view or dynamic table stood last.

    The schema is left out where there is only one. Of several that stood under one name last, those that are
    gone are told with their identities.
    """
    last = {event.table: event.name for event in run.trace if isinstance(event, Named)}
    alone = len({name.rpartition(".")[0] for name in last.values()}) == 1
    told = {table: name.rpartition(".")[2] if alone else name for table, name in last.items()}
    count = Counter(told.values())
    there = run.record.states[-1].state.entities if run.record.states else {}
    return {
        table: name if count[name] == 1 or table in there else f"{name} ({table})"
        for table, name in told.items()
    }
