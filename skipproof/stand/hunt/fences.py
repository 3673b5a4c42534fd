"""Fences: the traits that trigger a loud cause, all of them together, by which its failures are passed over.

A fence of fewer traits than the cause needs would hide other causes that share them. So a fence has every
trait without which the smallest failing world is answered rightly.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from skipproof.stand.hunt.causes import traits, type_family
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.shrinking import Fails, simpler_worlds, types, with_ranks
from skipproof.stand.hunt.state import Fence, Hunt
from strategies.engines.questions import Json, Question
from strategies.engines.worlds import World

# A cause is loud if a finding has so many duplicates, and they are this share of the failures of findings.
_LOUD_DUPLICATES, _LOUD_SHARE = 10, 0.1
# Questions behind a fence are not asked any more if so many were asked, and this share of them failed.
_ASKED_MIN, _FAILING_SHARE = 20, 0.5
# One world in so many is judged as if there were no fences.
WORLDS_PER_OPEN_WORLD = 20
# Types that stand for every other one, each with its value of a rank.
_TYPES_INSTEAD: dict[str, Callable[[int], Json]] = {
    "int32": lambda rank: rank,
    "float64": lambda rank: rank + 0.5,
    "string": lambda rank: f"t{rank:04}",
}


def is_loud(state: Hunt, ordinal: int) -> bool:
    """Tell whether the duplicates of a finding are a large share of those of all findings."""
    duplicates = state.again[ordinal]
    return duplicates >= _LOUD_DUPLICATES and duplicates >= _LOUD_SHARE * state.again.total()


def ignores_fences(worlds: int) -> bool:
    """Tell whether the world of this ordinal, from 1, is handled as if there were no fences."""
    return worlds % WORLDS_PER_OPEN_WORLD == 0


def without_fenced_questions(state: Hunt, world: World) -> World:
    """Return the next world without the questions that would very likely fail behind a fence.

    They have all traits of a fence, and most questions that had them failed; others may show other faults.
    """
    if not state.fences or ignores_fences(state.worlds + 1):
        return world
    kept = []
    for question in world.questions:
        fence = next((fence for fence in state.fences if _is_behind(state, fence, world, question)), None)
        if fence is None:
            kept.append(question)
        elif _mostly_fails(state, fence):
            state.unasked += 1
        else:
            state.asked_behind[fence.ordinal] += 1
            kept.append(question)
    return replace(world, questions=tuple(kept))


def _is_behind(state: Hunt, fence: Fence, world: World, question: Question) -> bool:
    """Tell whether a question would be behind a fence if it failed like the fence's finding."""
    finding = state.own_finding(fence.ordinal)
    assert finding is not None
    assert finding.outcome.contradiction is not None
    return fence.holds(traits(world, question, finding.outcome.contradiction))


def _mostly_fails(state: Hunt, fence: Fence) -> bool:
    """Tell whether most questions behind a fence failed, of enough."""
    question_count = state.asked_behind[fence.ordinal]
    return question_count >= _ASKED_MIN and state.fenced[fence.ordinal] >= _FAILING_SHARE * question_count


def minimal_conjunction(
    world: World, outcome: QuestionResult, fails: Fails, *, tries_max: int
) -> frozenset[str]:
    """Return the traits that a failure needs, by taking one after the other away.

    A trait stays unless the world still fails without it, and without others in its place. Only the type of a
    column has another in its place: it is taken away if the world fails with each of `_TYPES_INSTEAD`.

    Args:
        world: The failing world, with one question.
        tries_max: The maximum number of worlds to examine; traits that were not tried stay.
    """
    tries, changed = 0, True
    while changed:
        changed = False
        for candidate, _ in _with_fewer_traits(world, outcome):
            if tries == tries_max:
                break
            tries += 1
            if (result := fails(candidate)) is not None:
                world, outcome, changed = candidate, result, True
                break
    needless = [type_ for type_ in types(world) if all(map(fails, _with_other_types(world, type_)))]
    return _traits_of(world, outcome) - {type_family(type_) for type_ in needless}


def _with_other_types(world: World, type_: str) -> Iterator[World]:
    """Yield the world with other types in place of one, and with values in the same order."""
    for instead, value_of_rank in _TYPES_INSTEAD.items():
        if type_family(instead) != type_family(type_):
            yield with_ranks(world, type_, value_of_rank, instead)


def escape(
    world: World, outcome: QuestionResult, conjunction: frozenset[str], fails: Fails, *, tries_max: int
) -> tuple[World, QuestionResult] | None:
    """Return a simpler world that fails outside of a fence, or None: the failure may have the fenced cause.

    Args:
        world: A failing world behind the fence, with one question.
        conjunction: The traits of the fence.
    """
    outside = (
        candidate for candidate, fewer in _with_fewer_traits(world, outcome) if not conjunction <= fewer
    )
    for _, candidate in zip(range(tries_max), outside, strict=False):
        if (result := fails(candidate)) is not None:
            return candidate, result
    return None


def _with_fewer_traits(world: World, outcome: QuestionResult) -> Iterator[tuple[World, frozenset[str]]]:
    """Yield simpler worlds that lack a trait of a failure and have no other, each with its traits."""
    own_traits = _traits_of(world, outcome)
    for candidate in simpler_worlds(world):
        assert outcome.contradiction is not None
        fewer = traits(candidate, candidate.questions[0], outcome.contradiction)
        if fewer < own_traits:
            yield candidate, fewer


def _traits_of(world: World, outcome: QuestionResult) -> frozenset[str]:
    """Return the traits of a failing world."""
    assert outcome.contradiction is not None
    return traits(world, world.questions[0], outcome.contradiction)
