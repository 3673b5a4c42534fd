"""The base of the models of simulated worlds: frozen numbers, with units in the names of the keys."""

import msgspec

MICROSECONDS = 1_000_000


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a world; a key that it does not know is an error."""
