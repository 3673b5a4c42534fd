"""Whether ranges of byte strings meet a language: all lanes walk its automaton at once, a byte a step.

What is asked of a state and the next byte of a bound (is a greater byte, a smaller one, one between
two free to follow?) is in tables, so that a step is one look-up a lane; lanes leave as they are decided.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from pruning.rules.interpreters.arrow.kernels import Lanes
from pruning.rules.sets.languages import Language

# A symbol is 0 at a string's end, which is before every byte, else the byte plus one.
_SYMBOLS = 257
_MISSES, _MEETS = -1, -2
# What bounds have not decided by then is unknown; metadata seldom keeps as many bytes.
_BYTES_MAX = 4_096


def maybe_meets(lower: Lanes, upper: Lanes, language: Language) -> Lanes:
    """Whether [lower, upper] holds a string of the language; a null side is unbounded.

    Claim     Where the bounds share no more than `_BYTES_MAX` bytes with members, it is so if and only
              if it says so; elsewhere it says so.
    Proof     That of `Language.meets`, whose parts are the tables of `_Tables`.
    """
    if isinstance(lower, pa.Scalar) and isinstance(upper, pa.Scalar):
        return pa.scalar(language.meets(lower.as_py(), upper.as_py()))
    lanes = max(len(bound) for bound in (lower, upper) if isinstance(bound, pa.Array))
    tables, answer = _tables(language), np.zeros(lanes, bool)
    lowest, highest = _Strings.of(lower, lanes), _Strings.of(upper, lanes)
    every = np.zeros(lanes, np.intp)
    lower_walkers = _Walkers(np.arange(lanes), every, lowest.starts)
    upper_walkers = _Walkers(np.arange(lanes), every, highest.starts)
    bounded, unbounded = np.flatnonzero(~highest.unknown), np.flatnonzero(highest.unknown)
    pair = _Pair(tables, lowest, highest, answer)
    above, below = pair.parted(lower_walkers.only(bounded), upper_walkers.only(bounded))
    _walk(tables.at_least, lowest, _Walkers.joined([lower_walkers.only(unbounded), *above]), answer)
    _walk(tables.at_most, highest, _Walkers.joined(below), answer)
    return pa.array(answer)


@dataclass(frozen=True, slots=True)
class _Tables:
    """Per state and symbol, flat: what follows, the place of a state's first symbol or an answer.

    Attributes:
        common: The state after the symbol; an answer where every or no rest is accepted there.
        at_least: An answer where a rest that starts with a greater byte is accepted, or at the end.
        at_most: An answer where a rest that starts with a smaller byte is accepted, or the empty one.
        free: How many bytes up to the symbol's may start a rest that is accepted.
    """

    common: np.ndarray
    at_least: np.ndarray
    at_most: np.ndarray
    free: np.ndarray


@lru_cache(maxsize=16)
def _tables(language: Language) -> _Tables:
    automaton = language.automaton
    following = np.array(automaton.moves)[:, list(automaton.classes)]
    states = np.arange(len(following))
    accepting = np.array(automaton.accepting)
    settled = (following == states[:, None]).all(axis=1)
    live = accepting | ~settled
    free = np.zeros((len(states), _SYMBOLS), np.int32)
    free[:, 1:] = np.cumsum(live[following], axis=1)
    answers = np.where(settled[following], np.where(accepting[following], _MEETS, _MISSES), 0)
    moves = np.where(answers < 0, answers, following * _SYMBOLS)
    above = free[:, -1:] > free[:, 1:]
    below = accepting[:, None] | (free[:, :-1] > 0) | accepting[following]
    return _Tables(
        common=_table(np.full(len(states), _MISSES), moves),
        at_least=_table(np.where(live, _MEETS, _MISSES), np.where(above, _MEETS, moves)),
        at_most=_table(np.where(accepting, _MEETS, _MISSES), np.where(below, _MEETS, moves)),
        free=free.ravel(),
    )


def _table(at_end: np.ndarray, at_bytes: np.ndarray) -> np.ndarray:
    table: np.ndarray = np.column_stack([at_end, at_bytes]).astype(np.int32).ravel()
    return table


@dataclass(frozen=True, slots=True)
class _Strings:
    """A bound of each lane: where its bytes start and end; empty where it is unknown."""

    bytes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    unknown: np.ndarray

    @classmethod
    def of(cls, bound: Lanes, lanes: int) -> "_Strings":
        if isinstance(bound, pa.Scalar):
            one = cls.of(pa.repeat(bound, 1), 1)
            return cls(one.bytes, *(np.repeat(each, lanes) for each in (one.starts, one.ends, one.unknown)))
        _, places, data = bound.buffers()
        held = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        if not lanes:
            none = np.zeros(0, np.intp)
            return cls(held, none, none, none.astype(bool))
        offsets = np.frombuffer(places, np.int32)[bound.offset :][: lanes + 1].astype(np.intp)
        unknown: np.ndarray = bound.is_null().to_numpy(zero_copy_only=False)
        return cls(held, offsets[:-1], np.where(unknown, offsets[:-1], offsets[1:]), unknown)

    def symbols(self, lanes: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The symbol of each lane at a place in the bytes."""
        symbols: np.ndarray = self.bytes.take(at, mode="clip").astype(np.intp) + 1
        symbols *= at < self.ends[lanes]
        return symbols


@dataclass(frozen=True, slots=True)
class _Walkers:
    """Lanes on their way: the place in the tables and that in the bytes; shape (walkers,) each."""

    lanes: np.ndarray
    rows: np.ndarray
    at: np.ndarray

    def followed(self, rows: np.ndarray, answer: np.ndarray) -> "_Walkers":
        """A byte further, those that have no answer."""
        answer[self.lanes[rows == _MEETS]] = True
        return _Walkers(self.lanes, rows, self.at + 1).only(np.flatnonzero(rows >= 0))

    def only(self, kept: np.ndarray) -> "_Walkers":
        """Some of them, ascending, where they are."""
        if len(kept) == len(self.lanes):
            return self
        return _Walkers(self.lanes[kept], self.rows[kept], self.at[kept])

    @classmethod
    def joined(cls, parts: "list[_Walkers]") -> "_Walkers":
        """All of them."""
        lanes, rows, at = ([getattr(part, name) for part in parts] for name in ("lanes", "rows", "at"))
        return cls(np.concatenate(lanes), np.concatenate(rows), np.concatenate(at))


def _walk(table: np.ndarray, strings: _Strings, walkers: _Walkers, answer: np.ndarray) -> None:
    """Compare with one bound alone, to the end."""
    for _ in range(_BYTES_MAX):
        if not walkers.lanes.size:
            return
        symbols = strings.symbols(walkers.lanes, walkers.at)
        walkers = walkers.followed(table[walkers.rows + symbols], answer)
    answer[walkers.lanes] = True


@dataclass(frozen=True, slots=True)
class _Pair:
    """Both bounds of lanes, while they are the same."""

    tables: _Tables
    lowest: _Strings
    highest: _Strings
    answer: np.ndarray

    def parted(self, lower: _Walkers, upper: _Walkers) -> tuple[list[_Walkers], list[_Walkers]]:
        """The walkers to compare with the lower bound alone, and with the upper one, from there on."""
        above, below = [lower.only(_NOBODY)], [upper.only(_NOBODY)]
        for _ in range(_BYTES_MAX):
            if not lower.lanes.size:
                break
            low, high = (
                self.lowest.symbols(lower.lanes, lower.at),
                self.highest.symbols(upper.lanes, upper.at),
            )
            below.append(upper.only(np.flatnonzero(low == 0)))
            apart = self._apart(lower, low, high)
            above.append(self._after(lower, low, apart))
            below.append(self._after(upper, high, apart))
            same = np.flatnonzero((low == high) & (low > 0))
            lower, upper = self._after(lower, low, same), self._after(upper, high, same)
        self.answer[lower.lanes] = True
        return above, below

    def _apart(self, lower: _Walkers, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Those whose bounds differ here without a byte between them that may follow."""
        differ = np.flatnonzero((low > 0) & (low < high))
        rows, free = lower.rows[differ], self.tables.free
        between = free[rows + high[differ] - 1] > free[rows + low[differ]]
        self.answer[lower.lanes[differ[between]]] = True
        apart: np.ndarray = differ[~between]
        return apart

    def _after(self, walkers: _Walkers, symbols: np.ndarray, kept: np.ndarray) -> _Walkers:
        """Some of the walkers, a byte further."""
        some = walkers.only(kept)
        return some.followed(self.tables.common[some.rows + symbols[kept]], self.answer)


_NOBODY = np.zeros(0, np.intp)
