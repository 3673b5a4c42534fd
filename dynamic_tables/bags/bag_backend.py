"""The backend that computes over bags in Python, for tests and simulations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from dynamic_tables.bags.backends import Source
from dynamic_tables.bags.changes import NetFunction, compile_changes, net
from dynamic_tables.bags.intervals import Interval
from dynamic_tables.bags.operators import (
    KERNELS,
    Kernels,
    Pairs,
    RowChanges,
    compile_relation,
    contents_by_id,
)
from dynamic_tables.maintenance.algebra import Relation
from dynamic_tables.maintenance.differentiation import RULES, Rules, changes_from_held, differentiate
from dynamic_tables.maintenance.plans import Changes, Derivative
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.maintenance.restriction import KEY_PUSHDOWN, KeyPushdown
from dynamic_tables.values.changes import Action, Change, Contents, Delta


@dataclass(frozen=True)
class CompiledQuery:
    """A query as functions, each compiled when it is first needed."""

    relation: Relation
    backend: "BagBackend"

    @cached_property
    def full(self) -> Callable[[Mapping[str, Contents]], Pairs]:
        """The function that computes the rows of the result."""
        return compile_relation(self.relation, self.backend.kernels)

    @cached_property
    def changes(self) -> Callable[[Interval], RowChanges]:
        """The function that computes the net changes of the result."""
        return self.compile_plan(Derivative)

    @cached_property
    def changes_from_held(self) -> Callable[[Interval], RowChanges]:
        """The function that computes the net changes of the result, where the result before is at hand."""
        return self.compile_plan(self.backend.held)

    def compile_plan(self, held: Callable[[Relation], Changes]) -> Callable[[Interval], RowChanges]:
        """Compile the plan of the changes, with a rule for the whole relation."""
        plan = differentiate(self.relation, self.backend.rules, self.backend.pushdown, held=held)
        return compile_changes(plan, self.backend.kernels, self.backend.net)


class BagBackend:
    """A backend over dictionaries of rows; it keeps a compiled query for as long as the query lives.

    Args:
        rules, pushdown, kernels, net, held: The implementations of the operators; a mutant passes other ones.
    """

    def __init__(
        self,
        *,
        rules: Rules = RULES,
        pushdown: KeyPushdown = KEY_PUSHDOWN,
        kernels: Kernels = KERNELS,
        net: NetFunction = net,
        held: Callable[[Relation], Changes] = changes_from_held,
    ) -> None:
        self.rules = rules
        self.pushdown = pushdown
        self.kernels = kernels
        self.net = net
        self.held = held
        self.compiled_queries: WeakKeyDictionary[Query, CompiledQuery] = WeakKeyDictionary()

    def compile_query(self, query: Query) -> CompiledQuery:
        """Return the query as functions, compiled once."""
        compiled_query = self.compiled_queries.get(query)
        if compiled_query is None:
            compiled_query = self.compiled_queries[query] = CompiledQuery(query.relation, self)
        return compiled_query

    def full(self, query: Query, sources: Mapping[str, Contents]) -> Contents:
        """Return the query's result, by row id."""
        return contents_by_id(self.compile_query(query).full(sources))

    def changes(self, query: Query, sources: Mapping[str, Source], held: Contents | None = None) -> Delta:
        """Return the changes of the query's result over the interval, deletions first."""
        return self.changes_over(query, Interval(sources, held))

    def changes_over(self, query: Query, interval: Interval) -> Delta:
        """Return the changes of the query's result over an interval, which reads the sources."""
        query.require_incremental()
        compiled = self.compile_query(query)
        run = compiled.changes_from_held if interval.has_result else compiled.changes
        deleted, inserted = run(interval)
        return (
            *(Change(Action.DELETE, row_id, row) for row_id, row in deleted),
            *(Change(Action.INSERT, row_id, row) for row_id, row in inserted),
        )
