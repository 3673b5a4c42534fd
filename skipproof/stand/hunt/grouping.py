"""Findings of one cause: those that the same variations cure."""

from collections.abc import Sequence
from dataclasses import dataclass

from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, cause, error_words, function_families
from skipproof.stand.hunt.cures import Signature, find_signature
from skipproof.stand.hunt.examining import Write
from skipproof.stand.hunt.rewriting import FILTER_ALONE, NO_NULL_CONSTANT
from skipproof.stand.hunt.state import Finding, Hunt
from skipproof.stand.hunt.varying import TYPE_INSTEAD, CureKind
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.questions import subterms

_OF_THE_ENGINE = (CureKind.SWITCH, CureKind.STATISTICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The findings of one cause.

    Attributes:
        traits: What its findings have in common.
        finding: The smallest one, with its signature.
        others: The other findings.
        count: The number of failures of the hunt that were taken for one of them.
    """

    traits: frozenset[str]
    finding: Finding
    signature: Signature
    others: tuple[Finding, ...]
    count: int


def find_causes(worker: EngineClient, hunt: Hunt, *, write: Write) -> tuple[Cause, ...]:
    """Group the findings of a hunt into causes, in the order of the first finding of each."""
    signatures = [find_signature(worker, finding, write=write) for finding in hunt.findings]
    counts = [hunt.count_of(ordinal) for ordinal in range(len(hunt.findings))]
    return group_findings(hunt.findings, signatures, counts)


def group_findings(
    findings: Sequence[Finding], signatures: Sequence[Signature], counts: Sequence[int]
) -> tuple[Cause, ...]:
    """Group findings whose signatures are equal.

    Args:
        counts: The number of failures that were taken for each finding.
    """
    groups: dict[frozenset[str], list[int]] = {}
    for ordinal, (finding, signature) in enumerate(zip(findings, signatures, strict=True)):
        groups.setdefault(common_traits(finding, signature), []).append(ordinal)
    causes = []
    for common, ordinals in groups.items():
        smallest = min(ordinals, key=lambda ordinal: size(findings[ordinal]))
        causes.append(
            Cause(
                traits=common,
                finding=findings[smallest],
                signature=signatures[smallest],
                others=tuple(findings[ordinal] for ordinal in ordinals if ordinal != smallest),
                count=sum(counts[ordinal] for ordinal in ordinals),
            )
        )
    return tuple(causes)


def size(finding: Finding) -> tuple[int, ...]:
    """Return the size of a finding: expressions, then odd traits, then rows and columns."""
    (question,) = finding.world.questions
    tables = finding.world.tables.values()
    return (
        sum(1 for term in question.terms for _ in subterms(term)),
        len(finding.traits),
        sum(len(block) for table in tables for block in table.blocks),
        sum(len(table.columns) for table in tables),
    )


def common_traits(finding: Finding, signature: Signature) -> frozenset[str]:
    """Return what findings of one cause have in common, in words.

    Where other values cure, and other statistics too, the statistics of such values are at fault, whatever
    class of questions and switches use them. Where both forms are wrong, and an expression in another form
    cures, that expression is at fault, wherever it stands; if it is one without NULL among its constants,
    what the engine makes of that NULL. Where other values alone cure, any question of the class about these
    values shows the fault. Elsewhere the question matters, so that findings with other
    functions are of other causes. Where nothing cures, their traits decide. An error of the same words comes
    from the same place, unless other switches or statistics cure it: an expression may be anywhere in a
    question.
    """
    assert finding.outcome.contradiction is not None
    words = error_words(finding.outcome.contradiction)
    against = finding.traits & {AGAINST_THE_REFERENCE}
    if words:
        return frozenset({f"error: {words}", *against, *signature.names(*_OF_THE_ENGINE)})
    values, statistics = signature.names(CureKind.VALUES), signature.names(CureKind.STATISTICS)
    # What cures as a kind of value does so as another type, too, if the type has one.
    values_at_fault = {name for name in values if not name.startswith(TYPE_INSTEAD)} or values
    if values and statistics:
        return frozenset(against | values_at_fault | statistics)
    expressions = signature.names(CureKind.EXPRESSION)
    if against and NO_NULL_CONSTANT in expressions:
        return frozenset({*against, NO_NULL_CONSTANT, *signature.names(*_OF_THE_ENGINE)})
    if against and expressions:
        return frozenset(against | values_at_fault | expressions)
    # The area tells the same as this cure, and without it where the cure cannot be asked for.
    cures = {cure.name for cure in signature.cures if cure.name != FILTER_ALONE}
    own = {f"class {signature.area}", *against, *cures}
    if not cures:
        return frozenset(own | cause(finding.traits))
    return frozenset(own if values else own | function_families(finding.traits))
