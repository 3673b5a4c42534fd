"""The same draws in every process: Hypothesis draws constants of the modules that a process has imported."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hypothesis.internal.conjecture import providers

# Hypothesis has no setting for it. It reads both names each time that it draws a constant: the constants of
# modules that are not installed, such as those of a checkout, and a cache of those that fit what is drawn.
_CONSTANTS, _CACHE = "_get_local_constants", "CONSTANTS_CACHE"
# In their place are no constants, and a cache of its own, as large as that of Hypothesis; releases before
# these constants have neither name.
_WITHOUT: Mapping[str, Any] = (
    {_CONSTANTS: type(providers.GLOBAL_CONSTANTS), _CACHE: type(providers.CONSTANTS_CACHE)(1_024)}
    if hasattr(providers, _CONSTANTS)
    else {}
)


@contextmanager
def no_constants_of_modules() -> Iterator[None]:
    """Let Hypothesis draw no constants of modules, so that a seed draws the same everywhere."""
    before = {name: getattr(providers, name) for name in _WITHOUT}
    _set_names(_WITHOUT)
    try:
        yield
    finally:
        _set_names(before)


def _set_names(values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(providers, name, value)
