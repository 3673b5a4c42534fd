"""Which flags of a predicate's program are a conjunct's, so that a flag can be named in SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pruning.expressions.trees import And, Expression
from pruning.rules.analysis.correlation import correlated_columns
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import BOUNDS_ALONE, Analysis, Beyond, Rule, RuleKey
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
    predicate: Expression, rules: Mapping[RuleKey, Rule], *, beyond: Beyond = BOUNDS_ALONE
) -> tuple[Program, tuple[Conjunct, ...]]:
    """The program of a predicate, and its conjuncts. Those on one expression have one flag in common."""
    nodes = predicate.operands if isinstance(predicate, And) else (predicate,)
    written = [canonical(node) for node in nodes]
    whole = And(tuple(written)) if len(written) > 1 else written[0]
    analysis = Analysis(rules, beyond=beyond)
    outputs = truth_flags(analysis, whole)
    asked = list(_asked(analysis, whole))
    every = analysis.build.program(*outputs, *(flag for _, flag in asked))
    program = Program(
        every.operations,
        every.outputs[: len(outputs)],
        correlated=correlated_columns(whole, analysis.outcomes),
    )
    places = every.outputs[len(outputs) :]
    return program, tuple(
        Conjunct(node, _flags(program, form, asked, places))
        for node, form in zip(nodes, written, strict=True)
    )


def _asked(analysis: Analysis, whole: Expression) -> Iterator[tuple[Expression, Flag]]:
    """As the rule of AND asks its operands; the predicate as a whole where that rule is not asked."""
    if isinstance(whole, And) and analysis.outcomes(whole).subject is whole:
        yield from neutral_flags(analysis, whole, Environment())
    else:
        yield whole, analysis.may(whole, Environment(), Truths.TRUE)


def _flags(
    program: Program, form: Expression, asked: list[tuple[Expression, Flag]], places: tuple[int, ...]
) -> frozenset[int]:
    """The flags of the operands that are the conjunct, or were merged of it and others."""
    found: set[int] = set()
    for (operand, _), place in zip(asked, places, strict=True):
        parts = operand.operands if isinstance(operand, And) else ()
        if operand is form or any(part is form for part in parts):
            found |= implied_flags(program, place)
    return frozenset(found)
