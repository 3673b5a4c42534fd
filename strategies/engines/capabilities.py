"""The capabilities of an engine, and the columns that an expression may name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from strategies.engines.engine_tables import ALONE, Options, ValuePool, Writers


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """An engine's capabilities, which limit what is drawn.

    Attributes:
        areas: The classes of questions.
        functions_missing, types_missing, joins_missing: The functions, types and joins that it lacks.
        settings: Switches of the optimizer, with their values, the default first.
        writers: The engines that may write files, and the options of each, with their values.
        layouts: The options of the engine's own table format, with their values; None if it has none.
    """

    areas: tuple[str, ...] = ("filter",)
    functions_missing: frozenset[str] = frozenset()
    types_missing: frozenset[str] = frozenset()
    joins_missing: frozenset[str] = frozenset()
    settings: Mapping[str, Sequence[str]] = field(default_factory=dict)
    writers: Writers = field(default_factory=lambda: ALONE)
    layouts: Options | None = None


@dataclass(frozen=True, slots=True)
class ConditionScope:
    """The columns that a condition may name, each with its pool of values, and the available functions.

    Attributes:
        has_third: Whether there is a third table.
    """

    capabilities: Capabilities
    pools: Mapping[str, ValuePool]
    has_third: bool = False

    def has_functions(self, *functions: str) -> bool:
        """Tell whether the engine has all these functions."""
        return not self.capabilities.functions_missing.intersection(functions)
