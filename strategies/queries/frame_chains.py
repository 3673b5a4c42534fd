"""Chains of operations on a DataFrame, some before `prune` and some after it, as people write them.

The operations are data; a test applies them to a frame over one table with the columns `COLUMNS`, whose other
columns are functions of `k`. An operation names columns bare, by an alias or through the frame that came
before, and may use columns that an earlier one has left out.

"""

from dataclasses import dataclass

from hypothesis import strategies as st

from strategies.choices import choose

COLUMNS = ("k", "day", "unit", "c")
KEYS = 60  # values of k: 0 to KEYS - 1
ALIASES = ("x", "t")
# Predicates over one column; {} is the column as the operation names it.
_PREDICATES = (
    "{k} < 25",
    "{k} >= 40",
    "{k} BETWEEN 7 AND 12",
    "{k} > 1000",
    "{day} = 3",
    "{unit} = 'feet' AND {k} < 35",
    "{unit} IS NULL",
    "{c} LIKE 'a5'",
    "{c} = 'a5'",
    "{c} LIKE 'a5' AND {k} < 25",
)
KINDS = (
    "where",
    "select",
    "alias",
    "view",
    "hint",
    "order",
    "limit",
    "self-join",
    "union",
    "distinct",
    "cte",
)


_PADDED = "{c} LIKE 'a5' AND {k} < 25"
# The things that later operations need and an optimized plan has lost; or a leaf that it copies.
THEMES = ("none", "alias", "hidden column", "padding", "copies")


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a chain.

    `text` is a predicate, or a comma-separated list of columns; `naming` is the way of naming columns:
    "bare",
    "frame" for `frame["k"]`, or an alias. `number` is a limit, or a bound on k.
    """

    kind: str
    text: str = ""
    naming: str = "bare"
    number: int = 0


@dataclass(frozen=True, slots=True)
class FrameChain:
    """Operations before `prune` and after it; `pads` is Spark's setting for CHAR columns that are read."""

    before: tuple[Operation, ...]
    after: tuple[Operation, ...]
    pads: bool


@st.composite
def _operations(draw: st.DrawFn, alias: str) -> Operation:
    """Draw one operation on a frame, which may use the frame's alias; "" if it has none."""
    kind = choose(draw, KINDS)
    names = ["bare", "frame", *([alias] * 2 if alias else [])]
    naming = choose(draw, names if draw(st.integers(0, 9)) else [*ALIASES])
    text = ""
    if kind in ("where", "union", "cte"):
        text = choose(draw, _PREDICATES)
    elif kind == "select":
        text = ",".join(draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True)))
    elif kind in ("alias", "view"):
        naming = choose(draw, ALIASES)
    elif kind == "hint":
        text = choose(draw, ("broadcast", "coalesce"))
    return Operation(kind, text, naming, draw(st.integers(1, 30)))


def _alias_after(operation: Operation, alias: str) -> str:
    """Return the name that qualifies columns after an operation."""
    if operation.kind in ("alias", "view"):
        return operation.naming
    return "" if operation.kind in ("self-join", "union", "cte") else alias


@st.composite
def frame_chains(draw: st.DrawFn) -> FrameChain:
    """Chains of up to four operations before `prune` and up to three after it, on one of `THEMES`.

    The first one filters, so that there is something to prune. An operation may be refused by Spark, such as
    one that names an alias that is not there; it must then be refused with and without `prune`.
    Shrinks to: fewer operations, then simpler ones.
    """
    theme = choose(draw, THEMES)
    first = _PADDED if theme == "padding" else choose(draw, _PREDICATES)
    before, alias = [Operation("where", first)], ""
    for _ in range(draw(st.integers(0, 2))):
        before.append(draw(_operations(alias)))
        alias = _alias_after(before[-1], alias)
    after: list[Operation] = []
    if theme == "alias":
        alias = choose(draw, ALIASES)
        before.append(Operation("alias", naming=alias))
        after.append(Operation("where", "{k} < 25", alias))
    elif theme == "copies":
        before.append(Operation("cte", choose(draw, _PREDICATES), number=draw(st.integers(1, 30))))
        alias = ""
    elif theme == "hidden column":
        before.append(Operation("select", "unit"))
        after.append(choose(draw, (Operation("where", "{k} < 25"), Operation("order", number=3))))
    for _ in range(draw(st.integers(0, 2))):
        after.append(draw(_operations(alias)))
        alias = _alias_after(after[-1], alias)
    return FrameChain(tuple(before), tuple(after), pads=theme != "padding" and draw(st.booleans()))
