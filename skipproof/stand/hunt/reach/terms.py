"""The expressions and columns of a question in JSON."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from skipproof.stand.reference.evaluating import columns_of
from strategies.engines.questions import Json

# Returns another expression for one whose operands are changed already.
ChangeTerm: TypeAlias = Callable[[Json], Json]

# An expression that is taken away; what it stands in loses it.
REMOVED: Json = {"removed": True}
CONNECTIVES = ("and", "or", "not", "is true")
# The calls that are tests; all others compute a value.
TESTS = frozenset(
    {
        *CONNECTIVES, "=", "!=", "<", "<=", ">", ">=", "is not distinct from", "is distinct from", "is null",
        "is not null", "is nan", "in", "between", "like", "starts with",
    }
)  # fmt: skip


def parts_of(node: Json) -> list[Json]:
    """Return every object of a question or a part of it, outermost first."""
    parts: list[Json] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            parts.append(part)
            # A list may have thousands of literals, which have no parts.
            waiting += [] if "literal" in part else reversed(part.values())
        elif isinstance(part, list):
            waiting += reversed(part)
    return parts


def calls_of(node: Json) -> Iterator[Json]:
    """Yield every function call of a question or a part of it."""
    return (part for part in parts_of(node) if "call" in part)


def with_terms(node: Json, change: ChangeTerm) -> Json:
    """Return a question, or a part of it, with each call and subquery changed, the innermost first."""
    if isinstance(node, list):
        return [with_terms(child, change) for child in node]
    if not isinstance(node, dict):
        return node
    changed = {key: with_terms(child, change) for key, child in node.items()}
    if "call" in changed:
        return _without_removed(change(changed))
    if "query" in changed:
        return change(changed)
    # A condition that is taken away altogether.
    return {key: None if child == REMOVED else child for key, child in changed.items()}


def _without_removed(term: Json) -> Json:
    """Return a call without operands that are taken away; it is taken away itself if it needs them."""
    if "call" not in term or REMOVED not in term["of"]:
        return term
    if term["call"] in ("and", "or"):
        left = [part for part in term["of"] if part != REMOVED]
        return REMOVED if not left else left[0] if len(left) == 1 else term | {"of": left}
    return term["of"][1] if term["call"] == "if" else REMOVED


def columns_under(node: Json, question: Json) -> frozenset[str]:
    """Return the columns that an expression names, also through the outputs of aggregates."""
    names = set[str]()
    for part in parts_of(node):
        if "column" in part:
            names |= _inputs(part["column"], question)
        if "query" in part:
            names.add(part["value"])
    return frozenset(names)


def _inputs(name: str, question: Json) -> frozenset[str]:
    """Return the columns of which an output of aggregates is made; of another column itself."""
    if not question["aggregates"] or (name != "group" and not name.startswith("aggregate ")):
        return frozenset({name})
    of = question["group"] if name == "group" else question["aggregates"][int(name.split()[1])]["of"]
    return frozenset() if of is None else frozenset({of}) if isinstance(of, str) else columns_of(of)


def columns_of_value(term: Json, question: Json) -> frozenset[str]:
    """Return the columns of whose values an expression's value is made.

    They are those that it names, without those that CASE only tests or an aggregate only counts.
    """
    if isinstance(term, list):
        return frozenset[str]().union(*(columns_of_value(part, question) for part in term))
    if "call" in term:
        return columns_of_value(term["of"][1:] if term["call"] == "if" else term["of"], question)
    name = term.get("column", "")
    is_output = bool(question["aggregates"]) and name.startswith("aggregate ")
    if is_output and question["aggregates"][int(name.split()[1])]["function"] == "count":
        return frozenset()
    return columns_under(term, question)


def columns_read(question: Json) -> frozenset[str]:
    """Return the columns that conditions, joins, orders, groups, aggregates and set operations read."""
    names = set(columns_under(question, question))
    for part in parts_of(question):
        names.update(
            part[key] for key in ("left_key", "right_key", "distinct") if isinstance(part.get(key), str)
        )
    names.update(aggregate["of"] for aggregate in question["aggregates"] if isinstance(aggregate["of"], str))
    if isinstance(question["group"], str):
        names.add(question["group"])
    operation = question["set"]
    if operation is not None and (operation["kind"] != "union" or not operation["all"]):
        names.update(question["select"], operation["columns"])
    return frozenset(names)


def first_column(term: Json) -> Json | None:
    """Return the first column of an expression as an expression, or None if it has none."""
    return next(({"column": part["column"]} for part in parts_of(term) if "column" in part), None)


def family(type_: str) -> str:
    """Return the word of a type, one for all integers."""
    word = type_.partition("(")[0]
    return "integer" if word.startswith(("int", "uint")) else word
