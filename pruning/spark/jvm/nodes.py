"""Catalyst expression trees as Spark prints them in JSON, each node with access to its Java object.

Spark prints a tree parents first, in one call. A field that is an expression but not a child is
printed inside its node; only CASE has such fields, so that nested CASEs double the text at each level.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pruning.spark.jvm.gateway import Java

# The deepest nesting of CASEs that is printed: the text grows by 2 ** depth.
CASE_DEPTH_MAX = 6

PACKAGE = "org.apache.spark.sql.catalyst.expressions."
_CASE_OR_END = re.compile(r"\b(CASE|END)\b")


@dataclass(slots=True, eq=False)
class Node:
    """One expression: its class name without Catalyst's package, its fields, and its position in the tree."""

    name: str
    fields: Mapping[str, Any]
    parent: "Node | None"
    position: int
    children: list["Node"] = field(default_factory=list)
    cached_java: Java = None

    def java(self) -> Java:
        """Return the Catalyst object, in two calls for each ancestor whose object was not fetched before."""
        path: list[Node] = []
        node = self
        while node.cached_java is None:
            assert node.parent is not None
            path.append(node)
            node = node.parent
        for step in reversed(path):
            assert step.parent is not None
            step.cached_java = step.parent.cached_java.children().apply(step.position)
        return self.cached_java


def is_printable(expression: Java) -> bool:
    """Tell whether the expression's JSON has a reasonable length: CASEs are not nested too deeply."""
    depth = deepest = 0
    for word in _CASE_OR_END.findall(expression.toString()):
        depth += 1 if word == "CASE" else -1
        deepest = max(deepest, depth)
    return deepest <= CASE_DEPTH_MAX


def expression_nodes(expression: Java) -> list[Node]:
    """Return every node of an expression, parents first; the first is the root."""
    ordered: list[Node] = []
    # Parents that still miss children, each with the number of those.
    waiting: list[list[Any]] = []
    for fields in json.loads(expression.toJSON()):
        parent: Node | None = waiting[-1][0] if waiting else None
        node = Node(
            name=fields["class"].removeprefix(PACKAGE),
            fields=fields,
            parent=parent,
            position=len(parent.children) if parent else 0,
        )
        ordered.append(node)
        if parent:
            parent.children.append(node)
            waiting[-1][1] -= 1
        waiting.append([node, fields["num-children"]])
        while waiting and waiting[-1][1] == 0:
            waiting.pop()
    ordered[0].cached_java = expression
    return ordered
