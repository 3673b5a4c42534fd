"""Tests whether ranges of byte strings meet a language: all lanes walk its automaton at once, by bytes.

Tables hold, for each state and the next byte of a bound, whether a greater byte, a smaller one or one
between two may follow. So a step is one look-up per lane; lanes drop out once they are decided.
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
# Lanes that are not decided after so many bytes count as meeting; metadata seldom has bounds that long.
_BYTES_MAX = 4_096


def maybe_meets(lower: Lanes, upper: Lanes, language: Language) -> Lanes:
    """Return the flag that [lower, upper] holds a string of the language; a null side is unbounded.

    Claim     If the bounds share no more than `_BYTES_MAX` bytes with members, the flag holds if and only
              if there is such a string; otherwise the flag holds.
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
    walk = _CommonPrefixWalk(tables, lowest, highest, answer)
    above, below = walk.split(lower_walkers.select(bounded), upper_walkers.select(bounded))
    _walk(tables.at_least, lowest, _Walkers.concatenate([lower_walkers.select(unbounded), *above]), answer)
    _walk(tables.at_most, highest, _Walkers.concatenate(below), answer)
    return pa.array(answer)


@dataclass(frozen=True, slots=True)
class _Tables:
    """Flat tables by state and symbol, of the index of the next state's first symbol, or of an answer.

    Attributes:
        common: The state after the symbol; an answer if every suffix is accepted there, or none.
        at_least: An answer if a suffix that starts with a greater byte is accepted, or at the end.
        at_most: An answer if a suffix that starts with a smaller byte is accepted, or the empty one.
        free: The number of bytes up to the symbol's that may start a suffix that is accepted.
    """

    common: np.ndarray
    at_least: np.ndarray
    at_most: np.ndarray
    free: np.ndarray


@lru_cache(maxsize=16)
def _tables(language: Language) -> _Tables:
    """Return the tables of a language."""
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
    """Return a flat table of the entries at a string's end and at each byte."""
    table: np.ndarray = np.column_stack([at_end, at_bytes]).astype(np.int32).ravel()
    return table


@dataclass(frozen=True, slots=True)
class _Strings:
    """The bound of each lane: where its bytes start and end; empty if it is unknown."""

    bytes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    unknown: np.ndarray

    @classmethod
    def of(cls, bound: Lanes, lanes: int) -> "_Strings":
        """Return the strings of a bound."""
        if isinstance(bound, pa.Scalar):
            single = cls.of(pa.repeat(bound, 1), 1)
            return cls(
                single.bytes,
                *(np.repeat(values, lanes) for values in (single.starts, single.ends, single.unknown)),
            )
        _, places, data = bound.buffers()
        held = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        if not lanes:
            none = np.zeros(0, np.intp)
            return cls(held, none, none, none.astype(bool))
        offsets = np.frombuffer(places, np.int32)[bound.offset :][: lanes + 1].astype(np.intp)
        unknown: np.ndarray = bound.is_null().to_numpy(zero_copy_only=False)
        return cls(held, offsets[:-1], np.where(unknown, offsets[:-1], offsets[1:]), unknown)

    def symbols(self, lanes: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return the symbol of each lane at a position in the bytes."""
        symbols: np.ndarray = self.bytes.take(at, mode="clip").astype(np.intp) + 1
        symbols *= at < self.ends[lanes]
        return symbols


@dataclass(frozen=True, slots=True)
class _Walkers:
    """The lanes still undecided, each with its position in the tables and in the bytes; shape (walkers,)."""

    lanes: np.ndarray
    rows: np.ndarray
    at: np.ndarray

    def advance(self, rows: np.ndarray, answer: np.ndarray) -> "_Walkers":
        """Move one byte on and drop the lanes that have an answer now."""
        answer[self.lanes[rows == _MEETS]] = True
        return _Walkers(self.lanes, rows, self.at + 1).select(np.flatnonzero(rows >= 0))

    def select(self, kept: np.ndarray) -> "_Walkers":
        """Return the walkers at some indices, ascending."""
        if len(kept) == len(self.lanes):
            return self
        return _Walkers(self.lanes[kept], self.rows[kept], self.at[kept])

    @classmethod
    def concatenate(cls, parts: "list[_Walkers]") -> "_Walkers":
        """Return the walkers of all parts."""
        lanes, rows, at = ([getattr(part, name) for part in parts] for name in ("lanes", "rows", "at"))
        return cls(np.concatenate(lanes), np.concatenate(rows), np.concatenate(at))


def _walk(table: np.ndarray, strings: _Strings, walkers: _Walkers, answer: np.ndarray) -> None:
    """Compare with one bound alone, to its end."""
    for _ in range(_BYTES_MAX):
        if not walkers.lanes.size:
            return
        symbols = strings.symbols(walkers.lanes, walkers.at)
        walkers = walkers.advance(table[walkers.rows + symbols], answer)
    answer[walkers.lanes] = True


@dataclass(frozen=True, slots=True)
class _CommonPrefixWalk:
    """The walk of both bounds of lanes along their common prefix."""

    tables: _Tables
    lowest: _Strings
    highest: _Strings
    answer: np.ndarray

    def split(self, lower: _Walkers, upper: _Walkers) -> tuple[list[_Walkers], list[_Walkers]]:
        """Return the walkers to compare with the lower bound alone, and with the upper, from there on."""
        above, below = [lower.select(_NO_LANES)], [upper.select(_NO_LANES)]
        for _ in range(_BYTES_MAX):
            if not lower.lanes.size:
                break
            low, high = (
                self.lowest.symbols(lower.lanes, lower.at),
                self.highest.symbols(upper.lanes, upper.at),
            )
            below.append(upper.select(np.flatnonzero(low == 0)))
            apart = self._differing(lower, low, high)
            above.append(self._advance_on_common(lower, low, apart))
            below.append(self._advance_on_common(upper, high, apart))
            same = np.flatnonzero((low == high) & (low > 0))
            lower, upper = (
                self._advance_on_common(lower, low, same),
                self._advance_on_common(upper, high, same),
            )
        self.answer[lower.lanes] = True
        return above, below

    def _differing(self, lower: _Walkers, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the lanes whose bounds differ here without a byte between them that may follow."""
        differ = np.flatnonzero((low > 0) & (low < high))
        rows, free = lower.rows[differ], self.tables.free
        between = free[rows + high[differ] - 1] > free[rows + low[differ]]
        self.answer[lower.lanes[differ[between]]] = True
        apart: np.ndarray = differ[~between]
        return apart

    def _advance_on_common(self, walkers: _Walkers, symbols: np.ndarray, kept: np.ndarray) -> _Walkers:
        """Return some of the walkers, one byte further."""
        some = walkers.select(kept)
        return some.advance(self.tables.common[some.rows + symbols[kept]], self.answer)


_NO_LANES = np.zeros(0, np.intp)
