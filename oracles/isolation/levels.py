"""The phenomena, and the isolation levels that proscribe them.

Source: Adya's thesis, chapters 3 and 4; Elle (G-nonadjacent).
"""

from collections.abc import Collection, Mapping

PHENOMENA = (
    "G-SI", "G-SI-rt", "G-nonadjacent", "G-single", "G0", "G1a", "G1b", "G1c", "G2", "G2-item",
)  # fmt: skip

_G1 = frozenset({"G1a", "G1b", "G1c"})

LEVELS: Mapping[str, frozenset[str]] = {
    "PL-1": frozenset({"G0"}),
    "PL-2": _G1 | {"G0"},
    "PL-2+": _G1 | {"G0", "G-single"},
    "PL-2.99": _G1 | {"G0", "G2-item"},
    "PL-SI": _G1 | {"G0", "G-SI"},
    "PL-3": _G1 | {"G0", "G2"},
}

# The levels that each level implies.
IMPLIED: Mapping[str, frozenset[str]] = {
    "PL-1": frozenset(),
    "PL-2": frozenset({"PL-1"}),
    "PL-2+": frozenset({"PL-1", "PL-2"}),
    "PL-2.99": frozenset({"PL-1", "PL-2"}),
    "PL-SI": frozenset({"PL-1", "PL-2", "PL-2+"}),
    "PL-3": frozenset({"PL-1", "PL-2", "PL-2+", "PL-2.99"}),
}


def strongest(holding: Collection[str]) -> tuple[str, ...]:
    """Return the levels that hold and that no other level that holds implies, in the order of `LEVELS`."""
    implied = {level for stronger in holding for level in IMPLIED[stronger]}
    return tuple(level for level in LEVELS if level in holding and level not in implied)
