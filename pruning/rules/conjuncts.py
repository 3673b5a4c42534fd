"""Which flags of a predicate's program are a conjunct's, so that a flag can be named in SQL."""

from collections.abc import Mapping
from dataclasses import dataclass

from pruning.expressions.trees import And, Expression
from pruning.rules.analysis import Analysis, Rule, RuleKey, truth_flags
from pruning.rules.environment import Environment
from pruning.rules.flag_trees import conjoined
from pruning.rules.program import Program
from pruning.rules.truths import Truths


@dataclass(frozen=True, slots=True)
class Conjunct:
    """A conjunct of a predicate, and the flags that hold where it may be TRUE."""

    node: Expression
    flags: frozenset[int]


def analyse_conjuncts(
    predicate: Expression, rules: Mapping[RuleKey, Rule]
) -> tuple[Program, tuple[Conjunct, ...]]:
    """The program of `analyse`, and the conjuncts of the predicate."""
    analysis = Analysis(rules)
    outputs = truth_flags(analysis, predicate)
    nodes = predicate.operands if isinstance(predicate, And) else (predicate,)
    # As AND's rule asks them, so the flags are those of the program.
    narrowed = analysis.assume(predicate, Environment(), Truths.TRUE) if len(nodes) > 1 else Environment()
    asked = [analysis.may(node, narrowed, Truths.TRUE) for node in nodes]
    whole = analysis.build.program(*outputs, *asked)
    program = Program(whole.operations, whole.outputs[: len(outputs)])
    return program, tuple(
        Conjunct(node, conjoined(program, flag))
        for node, flag in zip(nodes, whole.outputs[len(outputs) :], strict=True)
    )
