"""Isolation checking of histories with derivations: exact, explained, and fast enough for millions.

Shares   the types of histories; no code of the brute-force checker.
Trusts   the version orders, and the places of begins and commits, that the history states.
Removes  nothing: a history that is not possible is UNKNOWN, and so is what a search did not decide.
Leaves   whether the history is what the system did; values, which no history has.
"""

from oracles.isolation.checking import Result, Verdict, check
from oracles.isolation.columns import Columns, columns_of, history_of
from oracles.isolation.errors import UnusableHistory
from oracles.isolation.levels import LEVELS, PHENOMENA
from oracles.isolation.witnesses import Step, Witness

__all__ = [
    "LEVELS",
    "PHENOMENA",
    "Columns",
    "Result",
    "Step",
    "UnusableHistory",
    "Verdict",
    "Witness",
    "check",
    "columns_of",
    "history_of",
]
