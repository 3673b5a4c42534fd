"""Catalyst plans: the leaves that read tables, and which predicates every row they must give satisfies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pruning.spark.jvm.gateway import Java, elements, simple_name
from pruning.spark.lake.tables import Attribute

# Rows that the query itself spells out; there is nothing to skip.
_ROWS_IN_THE_PLAN = frozenset({"LocalRelation", "OneRowRelation", "Range", "CTERelationRef", "EmptyRelation"})


class Unsettled(Exception):
    """The answer may depend on which files are read; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterChain:
    """The filters and row-wise projections right above a leaf.

    A row of the leaf that fails any of the conditions never leaves it. `renamed_ids` gives each renamed
    attribute's id the id below.
    """

    conditions: tuple[Java, ...] = ()
    renamed_ids: tuple[tuple[int, int], ...] = ()

    def names(self, below: Mapping[int, str]) -> dict[int, str]:
        """The leaf's column names by expression id, for every id that passes a column on."""
        names = dict(below)
        for new, old in reversed(self.renamed_ids):
            if old in names:
                names[new] = names[old]
        return names


@dataclass(frozen=True, slots=True)
class PlanLeaf:
    """A leaf of a plan and what is right above it; its columns, if it is a `LogicalRelation`."""

    node: Java
    chain: FilterChain
    attributes: tuple[Attribute, ...] = ()


def reads_data(kind: str) -> bool:
    """Whether a leaf of this class reads what the query itself does not spell out."""
    return kind not in _ROWS_IN_THE_PLAN


def chain_below(node: Java, kind: str, chain: FilterChain) -> FilterChain:
    """The chain below a node of a class: longer at a filter or projection, new at anything else."""
    if kind == "Filter":
        return replace(chain, conditions=(*chain.conditions, node.condition()))
    if kind == "Project" and chain.conditions:
        return replace(chain, renamed_ids=(*chain.renamed_ids, *_renamed_ids(node)))
    return FilterChain()


def _renamed_ids(project: Java) -> Iterator[tuple[int, int]]:
    for column in elements(project.projectList()):
        if simple_name(column) == "Alias" and simple_name(column.child()) == "AttributeReference":
            yield column.exprId().id(), column.child().exprId().id()
