"""What must not depend on how strings hash: a script prints the same in two processes that hash otherwise."""

import os
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType

NOTHING: Mapping[str, str] = MappingProxyType({})


def printed_twice(script: str, *arguments: str, second: Mapping[str, str] = NOTHING) -> bytes:
    """What a script in Python prints: something, and byte for byte the same in both processes.

    Args:
        second: Settings of the environment that the second process has besides another hash.
    """
    once, again = (
        subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env={**os.environ, **settings},
            capture_output=True,
            check=True,
        ).stdout
        for settings in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2", **second})
    )
    assert once
    assert once == again
    return once
