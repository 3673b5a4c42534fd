"""The leaves of Catalyst plans that read tables, and the predicates that all their needed rows satisfy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pruning.spark.jvm.gateway import Java, elements, simple_name
from pruning.spark.lake.tables import Attribute

# Leaves whose rows the query itself contains, so that there is nothing to skip.
_ROWS_IN_THE_PLAN = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef", "EmptyRelation"})


class Unsettled(Exception):
    """Raised where the answer may depend on which files are read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChain:
    """The filters and row-wise projections right above a leaf.

    A row of the leaf that fails any of the conditions is dropped. `renamed_ids` has pairs of the id of a
    renamed attribute and the id of the attribute below.
    """

    conditions: tuple[Java, ...] = ()
    renamed_ids: tuple[tuple[int, int], ...] = ()

    def names(self, below: Mapping[int, str]) -> dict[int, str]:
        """Return the leaf's column names by expression id, also by the ids of renamed attributes."""
        names = dict(below)
        for new, old in reversed(self.renamed_ids):
            if old in names:
                names[new] = names[old]
        return names


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """A leaf of a plan, the filters right above it, and its columns if its table may be narrowed."""

    node: Java
    chain: FilterChain
    attributes: tuple[Attribute, ...] = ()


def reads_data(kind: str) -> bool:
    """Tell whether a leaf of this class reads rows that the query itself does not contain."""
    return kind not in _ROWS_IN_THE_PLAN


def chain_below(node: Java, kind: str, chain: FilterChain) -> FilterChain:
    """Return the chain below a node: longer below a filter, or a projection below one; else empty."""
    if kind == "Filter":
        return replace(chain, conditions=(*chain.conditions, node.condition()))
    if kind == "Project" and chain.conditions:
        return replace(chain, renamed_ids=(*chain.renamed_ids, *_renamed_ids(node)))
    return FilterChain()


def _renamed_ids(project: Java) -> Iterator[tuple[int, int]]:
    for column in elements(project.projectList()):
        if simple_name(column) == "Alias" and simple_name(column.child()) == "AttributeReference":
            yield column.exprId().id(), column.child().exprId().id()
