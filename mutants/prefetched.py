"""Mutants of the answers that are fetched of a plan's nodes together."""

from collections.abc import Mapping
from typing import Any

from mutants.replacements import Replacement
from pruning.spark.jvm.prefetched import Prefetched

_object_of, _call = Prefetched._object_of, Prefetched._call


class _NextNode:
    """Java's side, which gives the node after the one that is asked for."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def node(self, number: int) -> Any:
        return self.reader.node(number + 1)


def _another_node(self: Any, name: str, arguments: Any, answer: Any) -> Any:
    java = _object_of(self, name, arguments, answer)
    java._reader = _NextNode(java._reader)
    return java


def _first_element(self: Any, name: str, arguments: Any) -> Any:
    return _call(self, name, (0,) if name == "apply" and "length" in self._answers else arguments)


def _of_any_option(self: Any, name: str, arguments: Any) -> Any:
    """Let the value of the one option that was asked for be that of all."""
    answered = [key.partition("|")[2] for key in self._answers if key.startswith("get|")]
    return _call(self, name, tuple(answered) if name == "get" and answered else arguments)


def _of_the_relation(self: Any, name: str, arguments: Any, answer: Any) -> Any:
    """Let the table's index answer as its relation."""
    return self if name == "location" else _object_of(self, name, arguments, answer)


MUTANTS: Mapping[str, Replacement] = {
    "a node is the one after it": Replacement(Prefetched, "_object_of", _another_node),
    "an element is the first one": Replacement(Prefetched, "_call", _first_element),
    "all options have one value": Replacement(Prefetched, "_call", _of_any_option),
    "an index answers as its relation": Replacement(Prefetched, "_object_of", _of_the_relation),
}
