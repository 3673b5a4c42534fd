"""Tables of a format that one library writes and another engine reads.

The writer and the reader are chosen independently: `TableFormat` makes the tables, and a `TablesReader` opens
them in an engine. What the reader is compared with is the same rows in its own memory.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any, ClassVar

from .serving import Adapter, Unsupported

# A cell of each type, to find the types that a reader does not read.
_CELLS: dict[str, Any] = {
    "boolean": True, "int8": 1, "int16": 1, "int32": 1, "int64": 1, "uint8": 1, "uint16": 1, "uint32": 1,
    "uint64": 1, "float32": 1.5, "float64": 1.5, "decimal(9,2)": "1.50", "string": "a", "binary": "61",
    "date": 1, "timestamp(ms)": 1, "timestamp(us)": 1, "timestamp(ns)": 1, "timestamp(us,UTC)": 1,
}  # fmt: skip

_DIRECTORY_CHARACTERS_MAX = 20


class TableFormat(abc.ABC):
    """A table format, whose tables a library writes.

    Attributes:
        word: The format in names of engines.
        types_missing: Types that the format does not have.
    """

    word: ClassVar[str]
    types_missing: ClassVar[list[str]]

    @abc.abstractmethod
    def library(self) -> tuple[str, str]:
        """Return the library that writes and its version."""

    @abc.abstractmethod
    def layouts(self) -> dict[str, list[Any]]:
        """Return the options of tables that this version of the library has, with the values to try."""

    @abc.abstractmethod
    def creation(self, tables: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return text that makes tables, and the objects that it uses and adds to; remove the last ones.

        The text assigns `tables`, the library's objects by name.
        """


class TablesReader(Adapter):
    """An engine that reads tables of a format; those without statistics are rows in its memory.

    Args:
        engine: The adapter of the engine, which reads rows in memory and answers questions.
        table_format: The format of the tables.
        kept: The engine's own settings that matter to these tables.
        settings: Settings of opening a table, with their values, the default first.
    """

    def __init__(
        self,
        engine: Adapter,
        table_format: TableFormat,
        *,
        kept: tuple[str, ...],
        settings: dict[str, list[str]],
    ) -> None:
        self.engine, self.table_format = engine, table_format
        own = engine.hello()["settings"]
        self._engine_settings = {name: own[name] for name in own if name.startswith(kept)}
        self._settings = settings

    @abc.abstractmethod
    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that makes the table `tables[name]` known to the engine by its name."""

    def hello(self) -> dict[str, Any]:
        """Return the abilities of the engine, less the types that it does not read of this format."""
        hello = self.engine.hello()
        library, version = self.table_format.library()
        without = hello["without"]
        missing = [*without["types"], *self.table_format.types_missing]
        missing += [type_ for type_ in _CELLS if type_ not in missing and not self._reads(type_)]
        return dict(
            hello,
            engine=f"{hello['engine']}-{self.table_format.word}",
            reader=hello["engine"],
            version=f"{hello['version']}+{library}.{version}",
            tables="own",
            without=dict(without, types=missing),
            settings={**self._engine_settings, **self._settings},
            layouts=self.table_format.layouts(),
            writes=False,
        )

    def _reads(self, type_: str) -> bool:
        """Tell whether the engine reads a table of two appends with a column of a type."""
        columns = [{"name": "a", "type": type_}]
        table = {"columns": columns, "blocks": [[[_CELLS[type_]]], [[None]]]}
        names: dict[str, Any] = {}
        try:
            exec(self.start(), names)
            text, objects = self.setup({"t": table}, {})
            names.update(objects)
            exec(text + self.ask(_everything("t", "a")), names)
        except Exception:  # Engines raise different errors for a type that they do not support.
            return False
        return True

    def start(self) -> str:
        """Return text that starts the engine."""
        return self.engine.start()

    def setup(self, tables: dict[str, Any], settings: dict[str, str]) -> tuple[str, dict[str, Any]]:
        """Return text that makes and opens tables of the format, and puts others into memory."""
        if any("files" in table for table in tables.values()):
            raise Unsupported("Parquet files that are no table")
        stored = {name: table for name, table in tables.items() if table.get("statistics", True)}
        plain = {name: table for name, table in tables.items() if name not in stored}
        of_engine = {name: value for name, value in settings.items() if name in self._engine_settings}
        # The engine's own imports come last, as names of the format's library may hide others.
        creation_text, names = self.table_format.creation(stored) if stored else ("", {})
        text, objects = self.engine.setup(plain, of_engine)
        defaults = {name: values[0] for name, values in self._settings.items()}
        opened = "".join(self.open(name, {**defaults, **settings}) for name in stored)
        names.update(objects)
        return creation_text + text + opened, names

    def ask(self, question: dict[str, Any]) -> str:
        """Return text of the engine that answers a question."""
        return self.engine.ask(question)

    def is_over(self, names: dict[str, Any]) -> bool:
        """Tell whether the engine must be started again."""
        return self.engine.is_over(names)


def _everything(table: str, column: str) -> dict[str, Any]:
    """Return the question for all rows of a column."""
    ending: dict[str, Any] = {"order": [], "limit": None, "offset": 0}
    return {
        **ending, "area": "filter", "select": [column], "join": None, "second": None, "where": None,
        "aggregates": [], "group": None, "having": None, "window": None, "set": None,
        "repeat": 1, "change": None, "to": None,
        "source": {**ending, "table": table, "where": None, "distinct": None},
    }  # fmt: skip


def check_directories(values: list[Any]) -> None:
    """Refuse texts that are too long for names of directories; file systems take 255 bytes with escapes."""
    if any(isinstance(value, str) and len(value) > _DIRECTORY_CHARACTERS_MAX for value in values):
        raise Unsupported("long texts in the names of directories")


def append_groups(blocks: list[Any], layout: dict[str, Any], spreading: Iterable[str]) -> list[list[Any]]:
    """Return blocks in groups, each of which is one append.

    Args:
        spreading: The options that say how the writer spreads the rows of an append; with one of them all
            blocks are one append, unless the layout says otherwise.
    """
    is_spread = any(layout.get(option) is not None for option in spreading)
    count = layout.get("blocks_per_append") or (len(blocks) if is_spread else 1)
    return [blocks[first : first + count] for first in range(0, len(blocks), max(count, 1))]
