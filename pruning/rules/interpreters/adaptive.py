"""Runs a program on many blocks: cheap and decisive flags first, each only on blocks still undecided.

A block is skipped as soon as one child of an AND is false. So the children are evaluated in the order of
their measured benefit per cost, and only on the lanes that no child has decided yet; dually under OR
("Pruning in Snowflake", 3.2). The verdicts are those of `arrow.run`: the order changes none of them. Only
cutting a child (leaving it out) changes verdicts, and only from NONE or ALL to SOME.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.rules.interpreters.arrow.interpreter import PreparedProgram, prepare, step
from pruning.rules.interpreters.arrow.kernels import Lanes
from pruning.rules.interpreters.ranking import RANKED_CHUNKS, ChildRecord, Ranking, spread_order
from pruning.rules.program.flag_trees import (
    ALWAYS,
    Connective,
    Leaf,
    Tree,
    exclusive_leaves,
    group_children,
    implied_flags,
    tree_of,
)
from pruning.rules.program.operations import Input, Op, Operation, Program
from pruning.rules.sets.truths import match_codes

# Open lanes are copied together if they are fewer than one in this many,
_GATHERED_SHARE = 16
# or if the operations that this saves outweigh the copy, which costs as much as this many a lane.
_COPY_OPERATIONS = 3
# The memory that a chunk's bounds may take together, at 8 bytes a lane.
_CHUNK_BYTES = 64 << 20
_LANES_MIN, _LANES_MAX = 8_192, 131_072

Clock = Callable[[], float]
InputsAt = Callable[[int, int], Mapping[Input, pa.Array]]


@dataclass(frozen=True, slots=True)
class AdaptiveResult:
    """The verdicts (`Match`, of shape (lanes,)), and the ordinals of the groups of flags that were cut."""

    verdicts: np.ndarray
    cut: frozenset[int]


def run(
    program: Program,
    inputs_at: InputsAt,
    lanes: int,
    *,
    clock: Clock,
    groups: Sequence[frozenset[int]] = (),
    read_seconds: float | None = None,
    chunk_lanes: int | None = None,
) -> AdaptiveResult:
    """Return the verdicts of a program with the outputs may be TRUE, may be FALSE, may be NULL.

    Claim     Without `read_seconds` the verdicts are those of the flags that `arrow.run` gives. With it, a
              verdict may be SOME instead.
    Premises  The program's flags are functions of a lane alone.
    Proof     (1) An AND of flags is false on a lane as soon as one is, an OR true; the rest need not run.
              (2) NONE is where may-be-TRUE is false. Elsewhere each flag that it is an AND of holds, so
                  those are taken as true in "may be FALSE or may be NULL", which tells ALL from SOME.
              (3) Leaving out a child of the AND that may-be-TRUE is makes it hold on more lanes, so NONE
                  is claimed of fewer. (2) does not hold then, and ALL is claimed of none.
              (4) So does leaving out a child of an AND inside, for AND and OR never fall where a child rises.
                  It costs at most the blocks on which that child alone makes its AND false.

    Args:
        program: As `pruning.rules.analysis.evaluation.analyse` makes it.
        inputs_at: As in `arrow.run`; an input is read only when it is needed.
        lanes: The number of blocks.
        clock: Returns seconds since some fixed time; it decides orders and cuts.
        groups: Flags that are cut together, of the AND that may-be-TRUE is. Flags with the same groups
            are cut together; those in no group are never cut, nor is anything inside them.
        read_seconds: The time to read a block that is not skipped. None: nothing is cut.
        chunk_lanes: Blocks to evaluate at a time; None derives it from the program's size.
    """
    size = chunk_lanes or _chunk_lanes(program)
    may_true, *others = program.outputs
    skips, homes = group_children(tree_of(program, may_true), groups)
    fails = tree_of(program, *others, true=implied_flags(program, may_true))
    work = len(program.operations) / max(1, len(program.inputs))
    evaluator = _Evaluator(prepare(program), clock, _owners(program, skips, fails), work)
    root, rest = _Node.of(skips), _Node.of(fails)
    spared = [child for child in range(len(root.children)) if not (homes and homes[child])]
    verdicts = np.zeros(lanes, np.int8)
    for done, ordinal in enumerate(spread_order(-(-lanes // size)), start=1):
        chunk = slice(ordinal * size, min(lanes, (ordinal + 1) * size))
        frame = _Frame(chunk.stop - chunk.start, inputs_at(chunk.start, chunk.stop - chunk.start))
        verdicts[chunk] = _verdicts(evaluator, root, rest, frame)
        if done % RANKED_CHUNKS == 0:
            root.rerank()
            rest.rerank()
            if read_seconds is not None:
                left, past = lanes - done * size, min(lanes, done * size)
                root.ranking.cut_last(left, read_seconds, spared)
                for child in set(root.ranking.order).difference(spared):
                    root.children[child].cut_inside(left, read_seconds, past=past)
    cut = (homes[child] for child in range(len(homes)) if root.is_cut(child))
    return AdaptiveResult(verdicts, frozenset().union(*cut))


def _owners(program: Program, skips: Tree, fails: Tree) -> dict[int, int]:
    """Return the leaf whose time an operation counts as, if there is one.

    What both trees need is computed for the first; the second is not evaluated once something was cut.
    """
    whole = Connective(Op.AND, (skips, fails))
    return exclusive_leaves(program, whole) | exclusive_leaves(program, skips)


def _chunk_lanes(program: Program) -> int:
    """Return the number of lanes of a chunk, by the memory that the program's bounds take."""
    bounds = sum(operation.type is not None for operation in program.operations)
    return max(_LANES_MIN, min(_LANES_MAX, _CHUNK_BYTES // (8 * max(1, bounds))))


@dataclass(slots=True)
class _Node:
    """A node of an AND/OR tree with the measurements of its children."""

    tree: Tree
    children: "list[_Node]"
    ranking: Ranking
    top: bool = True

    @classmethod
    def of(cls, tree: Tree, *, top: bool = True) -> "_Node":
        """Make the node of a tree, and those of its children."""
        children = (
            [cls.of(child, top=False) for child in tree.children] if isinstance(tree, Connective) else []
        )
        return cls(tree, children, Ranking(len(children)), top)

    @property
    def has_cuts(self) -> bool:
        """True if a child of this node, or of one below, was cut."""
        return bool(self.ranking.cut) or any(child.has_cuts for child in self.children)

    def is_cut(self, child: int) -> bool:
        """Tell whether a child was cut, or something inside it."""
        return child in self.ranking.cut or self.children[child].has_cuts

    def cut_inside(self, lanes: int, read_seconds: float, *, past: int, below_or: bool = False) -> None:
        """Cut children of the ANDs below ORs, each as `Ranking.cut_last` does; one child of each AND stays.

        A child of an OR is never cut: the OR would hold on every lane, as if it were cut itself.
        """
        if not isinstance(self.tree, Connective):
            return
        if self.tree.op is Op.OR:
            below_or = True
        elif below_or and len(self.ranking.order) > 1:
            self.ranking.cut_last(lanes, read_seconds, past=past)
        for child in self.ranking.order:
            self.children[child].cut_inside(lanes, read_seconds, past=past, below_or=below_or)

    def rerank(self) -> None:
        """Reorder the children of this node and of all below by their ranks."""
        self.ranking.rerank()
        for child in self.children:
            if child.children:
                child.rerank()


@dataclass(slots=True)
class _Frame:
    """Some lanes of a chunk, and the values that were computed on them.

    A frame of fewer lanes has a parent; `kept` tells which of the parent's lanes it has.
    """

    lanes: int
    inputs: Mapping[Input, pa.Array]
    parent: "_Frame | None" = None
    kept: pa.BooleanArray | None = None
    cells: dict[int, Lanes] = field(default_factory=dict)

    def subset(self, kept: pa.BooleanArray) -> "_Frame":
        """Return the frame of those lanes that are kept."""
        return _Frame(kept.true_count, self.inputs, self, kept)

    def has(self, index: int) -> bool:
        """Tell whether the operation was computed on these lanes, or on a parent's."""
        return index in self.cells or (self.parent is not None and self.parent.has(index))

    def cell(self, index: int) -> Lanes:
        """Return the computed value of an operation on these lanes."""
        if index not in self.cells:
            assert self.parent is not None
            cell = self.parent.cell(index)
            self.cells[index] = cell if isinstance(cell, pa.Scalar) else cell.filter(self.kept)
        return self.cells[index]

    def read(self, index: int, input_: Input) -> None:
        """Read an input on all lanes of the chunk."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        frame.cells[index] = self.inputs[input_]


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """Evaluates trees on frames; returns the flag, and the seconds that only this tree took."""

    prepared: PreparedProgram
    clock: Clock
    owner: Mapping[int, int]
    work: float  # the program's operations for each of its inputs

    def ask(self, node: _Node, frame: _Frame) -> tuple[Lanes, float]:
        """Evaluate a node on all lanes of a frame."""
        if isinstance(node.tree, Leaf):
            return self._leaf(node.tree.index, frame)
        return self._join(node, node.tree.op, frame)

    def _join(self, node: _Node, op: Op, frame: _Frame) -> tuple[Lanes, float]:
        """Evaluate a connective: its children in order, each on the lanes that are still open."""
        open_ = _OpenLanes(frame, decides=op is Op.OR)
        total = 0.0
        for child in tuple(node.ranking.order):
            before = open_.count
            if not before:
                node.ranking.observe(child, ChildRecord(lanes=frame.lanes))
                continue
            here = open_.frame(self.work if node.top else 0.0)
            flag, seconds = self.ask(node.children[child], here)
            open_.close(flag)
            decided = before - open_.count
            node.ranking.observe(child, ChildRecord(frame.lanes, here.lanes, before, decided, seconds))
            total += seconds
        return open_.answer(), total

    def _leaf(self, leaf: int, frame: _Frame) -> tuple[Lanes, float]:
        """Evaluate a leaf with the operations that it needs."""
        seconds = 0.0
        pending = [leaf]
        while pending:
            index = pending[-1]
            operation = self.prepared.program.operations[index]
            if self._has_value(index, frame):
                pending.pop()
                continue
            missing = [operand for operand in operation.operands if not self._has_value(operand, frame)]
            if missing:
                pending += missing
            else:
                pending.pop()
                began = self.clock()
                self._compute(index, operation, frame)
                if self.owner.get(index) == leaf:
                    seconds += self.clock() - began
        constant = self.prepared.constants.get(leaf)
        return frame.cell(leaf) if constant is None else constant, seconds

    def _has_value(self, index: int, frame: _Frame) -> bool:
        """Tell whether the value of an operation is already there."""
        return index in self.prepared.constants or frame.has(index)

    def _compute(self, index: int, operation: Operation, frame: _Frame) -> None:
        """Compute one operation from its operands on a frame."""
        if isinstance(operation.payload, Input):
            frame.read(index, operation.payload)
            return
        constants = self.prepared.constants
        operands = [
            constants[operand] if operand in constants else frame.cell(operand)
            for operand in operation.operands
        ]
        frame.cells[index] = step(self.prepared.program, operation, operands, {})


@dataclass(slots=True)
class _OpenLanes:
    """The lanes of a frame that no child has decided: under AND by being false, under OR by being true."""

    whole: _Frame
    decides: bool
    count: int = field(init=False)
    _here: _Frame = field(init=False)
    _places: np.ndarray | None = None
    _undecided: pa.BooleanArray | None = None

    def __post_init__(self) -> None:
        self.count, self._here = self.whole.lanes, self.whole

    def frame(self, work: float) -> _Frame:
        """Return a frame with every open lane, copied if that excludes enough decided ones.

        `work` is the number of operations to come for each input to copy.
        """
        few = self.count * _GATHERED_SHARE <= self._here.lanes
        spared = (self._here.lanes - self.count) * work
        if self._undecided is not None and (few or spared > _COPY_OPERATIONS * self._here.lanes):
            places = np.flatnonzero(_unpack(self._undecided))
            self._places = places if self._places is None else self._places[places]
            self._here = self._here.subset(self._undecided)
            self._undecided = None
        return self._here

    def close(self, flag: Lanes) -> None:
        """Close the lanes of the last frame on which the flag decides."""
        if isinstance(flag, pa.Scalar):
            self.count = 0 if flag.as_py() is self.decides else self.count
            return
        open_ = _invert(flag) if self.decides else flag
        self._undecided = open_ if self._undecided is None else pc.and_(self._undecided, open_)
        self.count = self._undecided.true_count

    def answer(self) -> Lanes:
        """Return the flag of the whole frame: a scalar if it is the same on every lane."""
        if self.count in (0, self.whole.lanes):
            return pa.scalar(self.decides is (self.count == 0))
        if self._places is None:
            return _invert(self._undecided) if self.decides else self._undecided
        places = self._places
        if self._undecided is not None:
            places = places[_unpack(self._undecided).view(bool)]
        answer = np.full(self.whole.lanes, self.decides)
        answer[places] = not self.decides
        return pa.array(answer)


def _verdicts(evaluator: _Evaluator, root: _Node, rest: _Node, frame: _Frame) -> np.ndarray:
    """Return the verdicts on a chunk, or the one that all its lanes have."""
    may_true, _ = evaluator.ask(root, frame)
    if isinstance(may_true, pa.Scalar) and not may_true.as_py():
        return match_codes(0, 0)
    if root.has_cuts or rest.tree == ALWAYS:
        return match_codes(_bytes(may_true), 0)
    open_ = _OpenLanes(frame, decides=False)
    open_.close(may_true)
    here = open_.frame(evaluator.work)
    may_fail, _ = evaluator.ask(rest, here)
    open_.close(_invert(may_fail))
    return match_codes(_bytes(may_true), _bytes(open_.answer()))


def _invert(flag: Lanes) -> Lanes:
    """Return the negation of a flag."""
    return pa.scalar(not flag.as_py()) if isinstance(flag, pa.Scalar) else pc.invert(flag)


def _bytes(flag: Lanes) -> np.ndarray | int:
    """Return a flag as bytes of 0 and 1, or as an integer if it is the same on every lane."""
    if isinstance(flag, pa.Scalar):
        return int(flag.as_py())
    return _unpack(flag).view(np.int8)


def _unpack(flags: pa.BooleanArray) -> np.ndarray:
    """Return flags as bytes of 0 and 1; faster than Arrow's own conversion."""
    bits = np.frombuffer(flags.buffers()[1], np.uint8)
    end = flags.offset + len(flags)
    return np.unpackbits(bits, count=end, bitorder="little")[flags.offset :]
