"""The parts of MERGE's conditions that are over the target alone, as block metadata can judge them."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.spark.drive.named_columns import named_columns
from pruning.spark.jvm.gateway import Java, elements, simple_name

TARGET, SOURCE = "target", "source"
_ATTRIBUTE = "UnresolvedAttribute"
# Spark counts UTF-16 units, and Python characters: they differ beyond this one.
_BASIC_MAX = "\uffff"


@dataclass(frozen=True, slots=True)
class TargetPart:
    """The part of a condition's AND over the target alone.

    Attributes:
        text: The part in Spark SQL, by the target's plain names; None if there is none.
        more: True if the condition has other parts.
    """

    text: str | None = None
    more: bool = False


@dataclass(frozen=True)
class _Scope:
    """The columns that names can be of.

    Attributes:
        target: The target's columns.
        source: The source's; empty where it is not in scope.
        folded: Gives the form of a name in which two names of one column are equal.
    """

    target: frozenset[str]
    source: frozenset[str]
    folded: Callable[[str], str]

    def is_qualified(self, parts: list[str]) -> bool | None:
        """Tell whether a name of a target's column is qualified; None if it may be of anything else."""
        head, *rest = map(self.folded, parts)
        if head == TARGET:
            return True if rest and rest[0] in self.target else None
        if head == SOURCE or head in self.source or head not in self.target:
            return None
        return False


def target_part(
    spark: SparkSession, condition: str | None, target: Collection[str], source: Collection[str] = ()
) -> TargetPart:
    """Return the part of a condition over `target` and `source` that is over the target alone.

    Claim     The condition is TRUE only where the part's text is.
    Proof     (1) The text joins some operands of the condition's outermost ANDs by AND.
              (2) The text of an operand is cut out where Spark's parser says that it stands, and used only if
                  it is parsed to the same tree again.
              (3) Each name in it is of the target: it is qualified so, or no column of the source has it.
                  Only the qualifier is cut from it.
    Unsound   if Spark could not resolve the condition, which the caller has tried.

    Args:
        spark: The session that parses the condition.
        condition: The condition; None for none.
        target: The target's columns.
        source: The source's columns, where the condition may name them.
    """
    if condition is None:
        return TargetPart()
    try:
        parser = spark._jsparkSession.sessionState().sqlParser()
        is_exact = spark.conf.get("spark.sql.caseSensitive") == "true"
        folded: Callable[[str], str] = str if is_exact else str.lower
        scope = _Scope(frozenset(map(folded, target)), frozenset(map(folded, source)), folded)
        # Names in subqueries and of variables are not looked at one by one.
        if named_columns(spark, condition) is None or max(condition, default="") > _BASIC_MAX:
            return TargetPart(more=True)
        texts = list(_parts(parser, parser.parseExpression(condition), condition, scope))
    except (PySparkException, Py4JError):
        return TargetPart(more=True)
    kept = [text for text in texts if text is not None]
    joined = " AND ".join(f"({text})" for text in kept)
    return TargetPart(text=joined or None, more=len(kept) < len(texts))


def _parts(parser: Java, node: Java, condition: str, scope: _Scope) -> Iterator[str | None]:
    """Yield the texts of the operands of AND, each None if it cannot be used."""
    text = _plain_text(parser, node, condition, scope)
    if text is None and simple_name(node) == "And":
        for operand in elements(node.children()):
            yield from _parts(parser, operand, condition, scope)
    else:
        yield text


def _plain_text(parser: Java, node: Java, condition: str, scope: _Scope) -> str | None:
    """Return the text of a condition over the target alone, by plain names; None if it is no such."""
    nodes = list(_subtree(node))
    attributes = {}
    for part in nodes:
        if simple_name(part) == "UnresolvedNamedLambdaVariable":
            return None
        if simple_name(part) == _ATTRIBUTE:
            names = list(elements(part.nameParts()))
            qualified = scope.is_qualified(names)
            if qualified is None:
                return None
            attributes[_span(part)] = qualified
    spans = [_span(part) for part in nodes]
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    if not parser.parseExpression(condition[start:end]).equals(node):  # (2)
        return None
    text = condition
    # From the end on, so that the places before stay.
    for (first, last), qualified in sorted(attributes.items(), reverse=True):
        if qualified:
            plain = _without_qualifier(parser, condition[first:last])
            text = text[:first] + plain + text[last:]
            end += len(plain) - (last - first)
    return text[start:end]


def _without_qualifier(parser: Java, name: str) -> str:
    """Return a name's text without its first part."""
    _, *rest = elements(parser.parseExpression(name).nameParts())
    return ".".join("`" + part.replace("`", "``") + "`" for part in rest)


def _subtree(node: Java) -> Iterator[Java]:
    yield node
    for child in elements(node.children()):
        yield from _subtree(child)


def _span(node: Java) -> tuple[int, int]:
    """Return the place of a node's text, its end exclusive."""
    origin = node.origin()
    return origin.startIndex().get(), origin.stopIndex().get() + 1
