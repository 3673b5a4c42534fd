"""Preimages of UPPER and LOWER that are exact only for ASCII and for characters without case.

`letter_case` distinguishes all letters of Unicode, which takes too many states for a long pattern with
wildcards. Here every other letter leads to a state that accepts anything. For blocks whose bounds begin
with ASCII the result prunes as much.
"""

from functools import lru_cache
from typing import TypeAlias

from pruning.expressions.trees import Function
from pruning.rules.sets.languages import Language
from pruning.rules.text.caseless import BLOCKS
from pruning.rules.text.character_runs import (
    LAST,
    Transitions,
    constant_transitions,
    map_states,
    product_transitions,
    with_changes,
    with_run_changes,
)
from pruning.rules.text.characters import (
    CharacterAutomaton,
    byte_language,
    character_transitions,
    live_states,
)
from pruning.rules.text.letter_case import images_of, python_case

_ASCII_COUNT = 0x80
# The state of the target set's automaton if all characters were ASCII so far (else None), and the states
# that it may be in otherwise. None accepts anything.
_State: TypeAlias = tuple[int | None, frozenset[int]] | None


@lru_cache(maxsize=512)
def case_preimage_over_ascii(function: Function, wanted: Language) -> Language | None:
    """Return the texts whose UPPER or LOWER may be in a set, or more; None if that takes too many states.

    Claim     A string whose UPPER (LOWER) is in the set is in the answer.
    Premises  Axiom CASE. What follows a letter changes the images of ASCII no more than `images_of` says.
    Proof     (1) Over ASCII, and characters without case, the set's automaton runs over the images.
              (2) After any other character, or a fault, each rest is in the answer, if a member of the
                  set can be reached by what came before: else none is.
    """
    accepting = wanted.automaton.accepting
    start: _State = (0, _live(wanted, frozenset({0})))

    def accepts(state: _State) -> bool:
        """Tell whether a text that leads to a state may become a member."""
        if state is None:
            return True  # (2)
        plain, others = state
        return any(accepting[other] for other in others) if plain is None else accepting[plain]

    return byte_language(
        CharacterAutomaton(
            start=start,
            moves=lambda state: _moves(wanted, function, state),
            accepts=accepts,
            accepts_malformed=lambda state: state is None or bool(state[1]),  # (2)
        )
    )


def _moves(wanted: Language, function: Function, state: _State) -> Transitions[_State]:
    """Return the transitions of a state over all characters."""
    if state is None:
        return constant_transitions(None)
    plain, others = state
    dead: _State = (None, frozenset())
    if not others:
        beyond: Transitions[_State] = constant_transitions(dead)
    else:
        joined = product_transitions([character_transitions(wanted, other) for other in sorted(others)])
        unchanged = map_states(joined, lambda states: (None, _live(wanted, frozenset(states))))
        beyond = with_run_changes(unchanged, ((first, last, None) for first, last in _OTHER_CHARACTERS))
    changes: dict[int, _State] = {}
    for code, images in enumerate(_ascii_images(function)):
        exact = None if plain is None else _run(wanted, plain, python_case(function, chr(code)).encode())
        reached = (_run(wanted, other, image) for other in others for image in images)
        changes[code] = (exact, _live(wanted, frozenset(reached)))
    return with_changes(beyond, changes)


def _other_character_runs() -> tuple[tuple[int, int], ...]:
    """Return the runs of characters between ASCII and the blocks without case."""
    starts = [_ASCII_COUNT, *(block.stop for block in BLOCKS)]
    stops = [*(block.start for block in BLOCKS), LAST + 1]
    return tuple((start, stop - 1) for start, stop in zip(starts, stops, strict=True) if start < stop)


_OTHER_CHARACTERS = _other_character_runs()


@lru_cache(maxsize=2)
def _ascii_images(function: Function) -> tuple[tuple[bytes, ...], ...]:
    """Return the texts that each ASCII character may become inside a text that is not all ASCII."""
    images_of_each = (
        (character, images_of(function, character)) for character in map(chr, range(_ASCII_COUNT))
    )
    return tuple((character.encode(),) if images is None else images for character, images in images_of_each)


def _live(wanted: Language, states: frozenset[int]) -> frozenset[int]:
    """Return those of the states from which a member can be reached."""
    return live_states(wanted) & states


def _run(wanted: Language, state: int, text: bytes) -> int:
    """Return the state of the set's automaton after a text."""
    for byte in text:
        state = wanted.automaton.step(state, byte)
    return state
