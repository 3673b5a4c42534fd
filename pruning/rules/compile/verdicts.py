"""What is asked of a block about a whole predicate: may it be TRUE, FALSE, NULL on some row?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pruning.expressions.trees import And, Column, Expression
from pruning.expressions.types import DOUBLE
from pruning.rules.analysis.correlation import correlated_columns
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import BOUNDS_ALONE, Analysis, Beyond, Rule, RuleKey
from pruning.rules.program.operations import Aspect, Flag, Program
from pruning.rules.sets import regions
from pruning.rules.sets.outcomes import EVERYTHING, ValueSet
from pruning.rules.sets.truths import Truths


def analyse(
    predicate: Expression, rules: Mapping[RuleKey, Rule], *, beyond: Beyond = BOUNDS_ALONE
) -> Program:
    """The program that tells which truth values a predicate may take in a block.

    Its three outputs are flags: may be TRUE, may be FALSE, may be NULL; all false in a block
    without rows. It asks of blocks what `beyond` says that they may know.
    """
    analysis = Analysis(rules, beyond=beyond)
    program = analysis.build.program(*truth_flags(analysis, predicate))
    return replace(program, correlated=correlated_columns(predicate, analysis.outcomes))


def truth_flags(analysis: Analysis, predicate: Expression) -> tuple[Flag, ...]:
    """The three flags of `analyse`.

    What is known of a block's values beyond their bounds only ever says that no row is TRUE: filters
    and lists of values are too easily incomplete to claim that every row is.
    """
    build, everywhere = analysis.build, Environment()
    has_rows = build.flag_input(Aspect.HAS_ROWS)
    true = build.and_(
        has_rows, analysis.may(predicate, everywhere, Truths.TRUE), *_inside(analysis, predicate)
    )
    by_bounds = analysis if analysis.beyond == BOUNDS_ALONE else Analysis(analysis.rules, build)
    others = (by_bounds.may(predicate, everywhere, truth) for truth in (Truths.FALSE, Truths.NULL))
    return (true, *(build.and_(has_rows, flag) for flag in others))


def _inside(analysis: Analysis, predicate: Expression) -> Iterator[Flag]:
    """Whether rows may be in the regions that a conjunction asks for (`regions.region_queries`)."""
    true: dict[str, ValueSet] = {}
    for conjunct in predicate.operands if isinstance(predicate, And) else (predicate,):
        found = analysis.outcomes(conjunct)
        if isinstance(found.subject, Column) and found.subject.type == DOUBLE:
            name = found.subject.name
            true[name] = true.get(name, EVERYTHING) & found.true
    for pair, inside in regions.region_queries(analysis.beyond.points, true):
        yield analysis.build.flag_input(Aspect.MAY_BE_INSIDE, pair.latitude, DOUBLE, inside)
