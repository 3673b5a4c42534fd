"""The program of a predicate's verdict on a block: may it be TRUE, FALSE, NULL on some row?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pruning.expressions.trees import And, Column, Expression
from pruning.expressions.types import DOUBLE
from pruning.rules.analysis.correlation import correlated_columns
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import BOUNDS_ONLY, Analysis, ExtraMetadata, Rule, RuleKey
from pruning.rules.program.operations import Aspect, Flag, Program
from pruning.rules.sets import regions
from pruning.rules.sets.outcomes import EVERYTHING, ValueSet
from pruning.rules.sets.truths import Truths


def analyse(
    predicate: Expression, rules: Mapping[RuleKey, Rule], *, beyond: ExtraMetadata = BOUNDS_ONLY
) -> Program:
    """Return the program that computes which truth values a predicate may take in a block.

    Its three outputs are flags: may be TRUE, may be FALSE, may be NULL; all false in a block
    without rows. It uses the metadata that `beyond` says blocks may have.
    """
    analysis = Analysis(rules, beyond=beyond)
    program = analysis.build.program(*truth_flags(analysis, predicate))
    return replace(program, correlated=correlated_columns(predicate, analysis.outcomes))


def truth_flags(analysis: Analysis, predicate: Expression) -> tuple[Flag, ...]:
    """Return the three flags of `analyse`.

    Metadata beyond bounds is used only to prove that no row is TRUE: filters and lists of values are too
    often incomplete to claim that every row is.
    """
    build, everywhere = analysis.build, Environment()
    has_rows = build.flag_input(Aspect.HAS_ROWS)
    true = build.and_(
        has_rows, analysis.may(predicate, everywhere, Truths.TRUE), *_region_flags(analysis, predicate)
    )
    by_bounds = analysis if analysis.beyond == BOUNDS_ONLY else Analysis(analysis.rules, build)
    others = (by_bounds.may(predicate, everywhere, truth) for truth in (Truths.FALSE, Truths.NULL))
    return (true, *(build.and_(has_rows, flag) for flag in others))


def _region_flags(analysis: Analysis, predicate: Expression) -> Iterator[Flag]:
    """Yield the flags that rows may be in the regions which a conjunction requires."""
    true: dict[str, ValueSet] = {}
    for conjunct in predicate.operands if isinstance(predicate, And) else (predicate,):
        outcomes = analysis.outcomes(conjunct)
        if isinstance(outcomes.subject, Column) and outcomes.subject.type == DOUBLE:
            name = outcomes.subject.name
            true[name] = true.get(name, EVERYTHING) & outcomes.true
    for pair, inside in regions.region_queries(analysis.beyond.points, true):
        yield analysis.build.flag_input(Aspect.MAY_BE_INSIDE, pair.latitude, DOUBLE, inside)
