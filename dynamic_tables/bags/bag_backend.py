"""The backend that computes over bags in Python, for tests and simulations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from dynamic_tables.bags.backends import Source
from dynamic_tables.bags.changes import Interval, Moved, Net, compiled_changes, net
from dynamic_tables.bags.operators import KERNELS, Kernels, Pairs, compiled_relation, contents
from dynamic_tables.maintenance.algebra import Relation
from dynamic_tables.maintenance.differentiation import RULES, Rules, differentiate
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.changes import Action, Change, Contents, Delta


@dataclass(frozen=True)
class Compiled:
    """A query as functions; each is made when it is first wanted."""

    relation: Relation
    backend: "BagBackend"

    @cached_property
    def full(self) -> Callable[[Mapping[str, Contents]], Pairs]:
        """The rows of the result."""
        return compiled_relation(self.relation, self.backend.kernels)

    @cached_property
    def changes(self) -> Callable[[Interval], Moved]:
        """The net changes of the result."""
        plan = differentiate(self.relation, self.backend.rules)
        return compiled_changes(plan, self.backend.kernels, self.backend.net)


class BagBackend:
    """Computes queries over dictionaries of rows; what it compiles stays as long as the query does.

    Args:
        rules, kernels, net: What operators do; another mapping makes a broken twin.
    """

    def __init__(self, *, rules: Rules = RULES, kernels: Kernels = KERNELS, net: Net = net) -> None:
        self.rules = rules
        self.kernels = kernels
        self.net = net
        self.known: WeakKeyDictionary[Query, Compiled] = WeakKeyDictionary()

    def compiled(self, query: Query) -> Compiled:
        """The query as functions."""
        found = self.known.get(query)
        if found is None:
            found = self.known[query] = Compiled(query.relation, self)
        return found

    def full(self, query: Query, sources: Mapping[str, Contents]) -> Contents:
        """The query's result, by row id."""
        return contents(self.compiled(query).full(sources))

    def changes(self, query: Query, sources: Mapping[str, Source]) -> Delta:
        """What the interval does to the query's result, deletions first."""
        query.require_incremental()
        gone, come = self.compiled(query).changes(Interval(sources))
        return (
            *(Change(Action.DELETE, row_id, row) for row_id, row in gone),
            *(Change(Action.INSERT, row_id, row) for row_id, row in come),
        )
