"""The engines of the stand: those of this package, and those of installed entry points."""

import importlib.util
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path

GROUP = "skipproof.engines"
_WORKER = Path(__file__).parent / "worker.py"
# The modules that each adapter needs. Of names in two parts, the first engine reads tables of a format.
_BUILT_IN = {
    "arrow": ("pyarrow",),
    "chdb": ("chdb",),
    "chdb-tables": ("chdb",),
    "daft": ("daft",),
    "datafusion": ("datafusion",),
    "datafusion-delta": ("datafusion", "deltalake"),
    "datafusion-iceberg": ("datafusion", "pyiceberg", "pyiceberg_core"),
    "deltalake": ("deltalake",),
    "duckdb": ("duckdb",),
    "duckdb-delta": ("duckdb", "deltalake"),
    "duckdb-iceberg": ("duckdb", "pyiceberg"),
    "duckdb-tables": ("duckdb",),
    "iceberg": ("pyiceberg",),
    "polars": ("polars",),
    "polars-delta": ("polars", "deltalake"),
    "polars-iceberg": ("polars", "pyiceberg"),
    "skipproof": ("pyspark",),
    "spark": ("pyspark",),
}
# The requirement that installs a module, where it is not the package of the same name.
_EXTRAS = {"pyiceberg_core": "pyiceberg-core", "pyspark": "skipproof[spark]"}


class UnknownEngine(ValueError):
    """No engine has that name, or its package is missing; the message names the engines."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine's name and the command that starts its worker."""

    name: str
    command: tuple[str, ...]


def engine_names() -> tuple[str, ...]:
    """Return the names of all engines, sorted."""
    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def find_engine(name: str, *, python: str | None = None) -> Engine:
    """Return the engine of a name.

    Args:
        python: The interpreter of its worker, by default this one; only for engines of this package.
    Raises:
        UnknownEngine: there is no engine of that name, or it is not installed here.
    """
    if name in _BUILT_IN:
        for module in _BUILT_IN[name] if python is None else ():
            if importlib.util.find_spec(module) is None:
                raise UnknownEngine(
                    f"{name} needs the package {module}, which is not installed; run "
                    f"`pip install '{_EXTRAS.get(module, module)}'`, or name the interpreter of an "
                    "environment that has it with --python"
                )
        return Engine(name, (python or sys.executable, str(_WORKER), name))
    for point in entry_points(group=GROUP):
        if point.name == name:
            return Engine(name, tuple(_entry_point_command(point.load())))
    raise UnknownEngine(f"there is no engine {name}; there are {', '.join(engine_names())}")


def _entry_point_command(loaded: object) -> Sequence[str]:
    """Return the command of an entry point, which is a list of strings or a function that returns one."""
    command = loaded() if callable(loaded) else loaded
    if isinstance(command, str) or not isinstance(command, Sequence):
        raise UnknownEngine(f"its entry point gives {command!r}; it must give a list: program, arguments")
    return [str(part) for part in command]
