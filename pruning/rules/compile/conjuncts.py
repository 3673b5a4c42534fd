"""Maps the conjuncts of a predicate to the flags of its program, so that reports can name a flag in SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pruning.expressions.trees import And, Expression
from pruning.rules.analysis.correlation import correlated_columns
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import BOUNDS_ONLY, Analysis, ExtraMetadata, Rule, RuleKey
from pruning.rules.compile.canonical import canonical
from pruning.rules.compile.verdicts import truth_flags
from pruning.rules.families.boolean import neutral_flags
from pruning.rules.program.flag_trees import implied_flags
from pruning.rules.program.operations import Flag, Program
from pruning.rules.sets.truths import Truths


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A conjunct of a predicate, and the flags that hold where it may be TRUE."""

    node: Expression
    flags: frozenset[int]


def analyse_conjuncts(
    predicate: Expression, rules: Mapping[RuleKey, Rule], *, beyond: ExtraMetadata = BOUNDS_ONLY
) -> tuple[Program, tuple[Conjunct, ...]]:
    """Return the program of a predicate, and its conjuncts. Those on one expression share a flag."""
    nodes = predicate.operands if isinstance(predicate, And) else (predicate,)
    written = [canonical(node) for node in nodes]
    whole = And(tuple(written)) if len(written) > 1 else written[0]
    analysis = Analysis(rules, beyond=beyond)
    outputs = truth_flags(analysis, whole)
    operand_flags = list(_operand_flags(analysis, whole))
    every = analysis.build.program(*outputs, *(flag for _, flag in operand_flags))
    program = Program(
        every.operations,
        every.outputs[: len(outputs)],
        correlated=correlated_columns(whole, analysis.outcomes),
    )
    places = every.outputs[len(outputs) :]
    return program, tuple(
        Conjunct(node, _conjunct_flags(program, form, operand_flags, places))
        for node, form in zip(nodes, written, strict=True)
    )


def _operand_flags(analysis: Analysis, whole: Expression) -> Iterator[tuple[Expression, Flag]]:
    """Yield the flags of the operands as AND's rule has them; that of the whole if its rule is not used."""
    if isinstance(whole, And) and analysis.outcomes(whole).subject is whole:
        yield from neutral_flags(analysis, whole, Environment())
    else:
        yield whole, analysis.may(whole, Environment(), Truths.TRUE)


def _conjunct_flags(
    program: Program, form: Expression, operand_flags: list[tuple[Expression, Flag]], places: tuple[int, ...]
) -> frozenset[int]:
    """Return the flags of the operands that are the conjunct, or were merged from it and others."""
    flags: set[int] = set()
    for (operand, _), place in zip(operand_flags, places, strict=True):
        parts = operand.operands if isinstance(operand, And) else ()
        if operand is form or any(part is form for part in parts):
            flags |= implied_flags(program, place)
    return frozenset(flags)
