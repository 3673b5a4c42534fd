"""UPPER and LOWER once more, told apart in ASCII and in blocks without case only.

`letter_case` knows each of the world's letters, which for a long pattern of wildcards is too many
states. Here any other letter leads to "anything may be": of blocks whose bounds begin with ASCII that
is no looser.
"""

from functools import lru_cache
from typing import TypeAlias

from pruning.expressions.trees import Function
from pruning.rules.sets.languages import Language
from pruning.rules.text.caseless import BLOCKS
from pruning.rules.text.character_runs import LAST, Pieces, always, mapped, overlaid, patched, zipped
from pruning.rules.text.characters import Machine, language, live_states, spelled
from pruning.rules.text.letter_case import changed, images_of

_ASCII_COUNT = 0x80
# Where a set's automaton is if all was ASCII so far (else None), and where it may be in any case; None
# where anything may be.
_State: TypeAlias = tuple[int | None, frozenset[int]] | None


@lru_cache(maxsize=512)
def becoming_roughly(function: Function, wanted: Language) -> Language | None:
    """The texts whose UPPER or LOWER may be in a set, or more; None if even that takes too many states.

    Claim     A string whose UPPER (LOWER) is in the set is in the answer.
    Premises  Axiom CASE. What follows a letter changes the images of ASCII no more than `images_of` says.
    Proof     (1) Over ASCII, and characters without case, the set's automaton runs over the images.
              (2) After any other character, or a fault, each rest is in the answer, if a member of the
                  set can be reached by what came before: else none is.
    """
    accepting = wanted.automaton.accepting
    start: _State = (0, _alive(wanted, frozenset({0})))

    def accepts(state: _State) -> bool:
        if state is None:
            return True  # (2)
        plain, others = state
        return any(accepting[other] for other in others) if plain is None else accepting[plain]

    return language(
        Machine(
            start=start,
            moves=lambda state: _moves(wanted, function, state),
            accepts=accepts,
            faulty=lambda state: state is None or bool(state[1]),  # (2)
        )
    )


def _moves(wanted: Language, function: Function, state: _State) -> Pieces[_State]:
    if state is None:
        return always(None)
    plain, others = state
    dead: _State = (None, frozenset())
    if not others:
        beyond: Pieces[_State] = always(dead)
    else:
        joined = zipped([spelled(wanted, other) for other in sorted(others)])
        unchanged = mapped(joined, lambda each: (None, _alive(wanted, frozenset(each))))
        beyond = overlaid(unchanged, ((first, last, None) for first, last in _OTHER_CHARACTERS))
    changes: dict[int, _State] = {}
    for code, images in enumerate(_images(function)):
        exact = None if plain is None else _run(wanted, plain, changed(function, chr(code)).encode())
        reached = (_run(wanted, other, image) for other in others for image in images)
        changes[code] = (exact, _alive(wanted, frozenset(reached)))
    return patched(beyond, changes)


def _gaps() -> tuple[tuple[int, int], ...]:
    """The runs of characters between ASCII and the blocks without case."""
    starts = [_ASCII_COUNT, *(block.stop for block in BLOCKS)]
    stops = [*(block.start for block in BLOCKS), LAST + 1]
    return tuple((start, stop - 1) for start, stop in zip(starts, stops, strict=True) if start < stop)


_OTHER_CHARACTERS = _gaps()


@lru_cache(maxsize=2)
def _images(function: Function) -> tuple[tuple[bytes, ...], ...]:
    """What each character of ASCII may become, among others that are not ASCII."""
    each = ((character, images_of(function, character)) for character in map(chr, range(_ASCII_COUNT)))
    return tuple((character.encode(),) if images is None else images for character, images in each)


def _alive(wanted: Language, states: frozenset[int]) -> frozenset[int]:
    """The states from which a member can be reached."""
    return live_states(wanted) & states


def _run(wanted: Language, state: int, text: bytes) -> int:
    for byte in text:
        state = wanted.automaton.step(state, byte)
    return state
