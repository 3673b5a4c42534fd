"""The Arrow kernel of regular languages, with tables or inputs that are wrong in one way each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from mutants.replacements import Replacement
from pruning.rules.interpreters.arrow import languages
from pruning.rules.interpreters.arrow.kernels import Lanes
from pruning.rules.sets.languages import Language

_Tables: TypeAlias = languages._Tables
_tables, _strings_of = languages._tables, languages._Strings.of


def _change_rows(table: np.ndarray, change: Callable[[np.ndarray], None]) -> np.ndarray:
    """Return a flat table after a change of the same table by state and symbol."""
    rows = table.reshape(-1, 257).copy()
    change(rows)
    return rows.ravel()


def _end_misses(rows: np.ndarray) -> None:
    rows[:, 0] = -1


def _never_meets(rows: np.ndarray) -> None:
    rows[rows == -2] = -1


def _with_tables(change: Callable[[_Tables], _Tables]) -> Replacement:
    def changed_tables(language: Language) -> _Tables:
        return change(_tables(language))

    return Replacement(languages, "_tables", changed_tables)


MUTANTS: Mapping[str, Replacement] = {
    "the lower bound and what it starts are no members": _with_tables(
        lambda tables: replace(tables, at_least=_change_rows(tables.at_least, _end_misses))
    ),
    "the upper bound is no member": _with_tables(
        lambda tables: replace(tables, at_most=_change_rows(tables.at_most, _end_misses))
    ),
    "greater bytes are not looked for": _with_tables(lambda tables: replace(tables, at_least=tables.common)),
    "smaller bytes and starts are not looked for": _with_tables(
        lambda tables: replace(tables, at_most=tables.common)
    ),
    "bytes between are not looked for": _with_tables(
        lambda tables: replace(tables, free=np.zeros_like(tables.free))
    ),
    "the upper bound's byte is between": _with_tables(
        lambda tables: replace(tables, free=np.append(tables.free[1:], 0))
    ),
    "no state accepts whatever follows": _with_tables(
        lambda tables: replace(tables, common=_change_rows(tables.common, _never_meets))
    ),
}


def _without_unknown(bound: Lanes, lanes: int) -> Any:
    strings = _strings_of(bound, lanes)
    return replace(strings, unknown=np.zeros_like(strings.unknown))


NULL_IS_EMPTY = Replacement(languages._Strings, "of", _without_unknown)
