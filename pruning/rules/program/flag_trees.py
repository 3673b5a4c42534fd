"""AND/OR trees of a program's flags, by which an interpreter can skip flags that no longer matter."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pruning.rules.program.operations import Op, Program

Tree: TypeAlias = "Leaf | Connective"
_CONNECTIVES = (Op.AND, Op.OR)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A flag that is computed as a whole, by the index of its operation."""

    index: int


@dataclass(frozen=True, slots=True)
class Connective:
    """The AND or the OR (`op`) of the children; `index` is that of its operation, if there is one."""

    op: Op
    children: tuple[Tree, ...]
    index: int | None = None


ALWAYS = Connective(Op.AND, ())
NEVER = Connective(Op.OR, ())


def tree_of(program: Program, *flags: int, true: Collection[int] = ()) -> Tree:
    """Return the tree of one flag, or of the OR of several, given flags that are `true`.

    Nested operations of one connective become one node. Below the root, a connective with more than one user
    stays a leaf: its value is computed once and shared, and the tree is never larger than the program.
    """
    flags = tuple(flag for flag in flags if _constant(program, flag) is not False)
    if not flags:
        return NEVER
    if any(_constant(program, flag) for flag in flags):
        return ALWAYS
    shared = {index for index, users in _use_counts(program, flags).items() if users > 1}
    root = Op.OR if len(flags) > 1 else program.operations[flags[0]].op
    if root not in _CONNECTIVES:
        return ALWAYS if flags[0] in true else Leaf(flags[0])
    return _connective(program, root, flags, frozenset(true), shared, at_root=True)


def implied_flags(program: Program, flag: int) -> frozenset[int]:
    """Return every flag that holds wherever this one does, as it is an AND of them; itself included."""
    return frozenset(_connected_flags(program, Op.AND, (flag,), frozenset()))


def group_children(tree: Tree, groups: Sequence[frozenset[int]]) -> tuple[Tree, tuple[frozenset[int], ...]]:
    """Return the tree with those children of its AND merged that belong to the same groups of flags.

    Returns:
        The tree, and for each child the ordinals of its groups; no ordinals if the root is no AND.
    """
    if not (isinstance(tree, Connective) and tree.op is Op.AND):
        return tree, ()
    together: dict[frozenset[int], list[Tree]] = {}
    for child in tree.children:
        homes = frozenset(ordinal for ordinal, flags in enumerate(groups) if child.index in flags)
        together.setdefault(homes, []).append(child)
    loose = together.pop(frozenset(), [])
    joined = [
        children[0] if len(children) == 1 else Connective(Op.AND, tuple(children))
        for children in together.values()
    ]
    return Connective(Op.AND, (*loose, *joined)), (*(frozenset() for _ in loose), *together)


def leaves(tree: Tree) -> Iterator[int]:
    """Yield the indices of a tree's leaves, in order."""
    if isinstance(tree, Leaf):
        yield tree.index
        return
    for child in tree.children:
        yield from leaves(child)


def exclusive_leaves(program: Program, tree: Tree) -> dict[int, int]:
    """Map each operation that only one leaf needs to that leaf."""
    owner: dict[int, int | None] = {}
    for index in leaves(tree):
        owner[index] = index
    for position in range(len(program.operations) - 1, -1, -1):
        if position in owner:
            for operand in program.operations[position].operands:
                same = owner.get(operand, owner[position]) == owner[position]
                owner[operand] = owner[position] if same else None
    return {index: leaf for index, leaf in owner.items() if leaf is not None}


def _constant(program: Program, flag: int) -> object:
    """Return the value of a constant flag; None of any other."""
    step = program.operations[flag]
    return step.payload if step.op is Op.FLAG else None


def _use_counts(program: Program, flags: tuple[int, ...]) -> Counter[int]:
    """Count the operations that use each operation, among those that the flags need."""
    users: Counter[int] = Counter()
    reached = set(flags)
    for position in range(max(flags), -1, -1):
        if position in reached:
            operands = set(program.operations[position].operands)
            users.update(operands)
            reached |= operands
    return users


def _connected_flags(program: Program, op: Op, flags: tuple[int, ...], closed: Collection[int]) -> list[int]:
    """Return the flags that nested operations `op` combine, opened up to `closed`, inner ones included."""
    links: dict[int, None] = {}
    pending = list(reversed(flags))
    while pending:
        index = pending.pop()
        if index in links:
            continue
        links[index] = None
        if program.operations[index].op is op and (index in flags or index not in closed):
            pending.extend(reversed(program.operations[index].operands))
    return list(links)


def _connective(
    program: Program,
    op: Op,
    flags: tuple[int, ...],
    true: frozenset[int],
    shared: set[int],
    *,
    at_root: bool = False,
) -> Tree:
    """Return the tree of `op` over the flags, simplified by those that are `true`."""
    closed = frozenset() if at_root else shared
    linked = _connected_flags(program, op, flags, closed)
    if op is Op.OR and not true.isdisjoint(linked):
        return ALWAYS
    children: list[Tree] = []
    for index in linked:
        inner = program.operations[index].op
        if index in true or (inner is op and (index in flags or index not in closed)):
            continue
        opened = inner in _CONNECTIVES and index not in shared
        child = _connective(program, inner, (index,), true, shared) if opened else Leaf(index)
        if child == ALWAYS and op is Op.OR:
            return ALWAYS
        children.extend(child.children if isinstance(child, Connective) and child.op is op else [child])
    distinct = tuple(dict.fromkeys(children))
    if not distinct:
        return ALWAYS  # an AND of flags that are all true
    if len(distinct) == 1:
        return distinct[0]
    return Connective(op, distinct, flags[0] if len(flags) == 1 else None)
