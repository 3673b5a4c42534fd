"""Faults: what goes wrong from one instant until another, in every kind of simulation."""

import msgspec

# The end of a fault that never ends.
FOREVER_US = 1 << 60


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Something that goes wrong from one instant until another."""

    from_us: int
    until_us: int
