"""Interpreters of rules that are wrong in one way each: the adaptive one, and the one that cuts blocks."""

from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa

from mutants.replacements import Replacement
from pruning.rules.interpreters import adaptive, pieces
from pruning.rules.program.flag_trees import Connective, Leaf, Tree, tree_of
from pruning.rules.program.operations import Aspect, Input, Op, Program

_axis_inputs = pieces._axis_inputs

# The order of questions


def _first_flag_tree(program: Program, *flags: int, true: Collection[int] = ()) -> Tree:
    return tree_of(program, *flags[:1])


def _any_for_all(tree: Tree) -> Tree:
    """Ask an AND as if any child could decide that it holds."""
    if isinstance(tree, Leaf):
        return tree
    return Connective(Op.OR, tuple(map(_any_for_all, tree.children)))


def _any_for_all_tree(program: Program, *flags: int, true: Collection[int] = ()) -> Tree:
    return _any_for_all(tree_of(program, *flags, true=true))


def _every_flag(program: Program, flag: int) -> frozenset[int]:
    return frozenset(range(len(program.operations)))


ORDER_MUTANTS: Mapping[str, Replacement] = {
    "the rest asked first": Replacement(adaptive, "tree_of", _first_flag_tree),
    "everything implied": Replacement(adaptive, "implied_flags", _every_flag),
    "any for all": Replacement(adaptive, "tree_of", _any_for_all_tree),
}


# The pieces of blocks


def _without_aspect(aspect: Aspect) -> Replacement:
    def remaining_inputs(axis: Any, *rest: Any) -> dict[Input, pa.Array]:
        inputs = _axis_inputs(axis, *rest)
        no_flags = {
            name: pa.array([False] * len(flags)) for name, flags in inputs.items() if name.aspect is aspect
        }
        return inputs | no_flags

    return Replacement(pieces, "_axis_inputs", remaining_inputs)


def _without_ends(axis: Any, *rest: Any) -> dict[Input, pa.Array]:
    inputs = _axis_inputs(axis, *rest)
    name, type_ = axis.column.name, axis.column.type
    return inputs | {Input(Aspect.UPPER, name, type_): inputs[Input(Aspect.LOWER, name, type_)]}


PIECE_MUTANTS: Mapping[str, Replacement] = {
    "NULL forgotten": _without_aspect(Aspect.MAY_NULL),
    "NaN forgotten": _without_aspect(Aspect.MAY_NAN),
    "cells without their ends": Replacement(pieces, "_axis_inputs", _without_ends),
}
