"""Copies of the small engine, one module of which is mutated; they share no module with the judge.

A copy executes the modules of the engine again, in namespaces of its own, and `sys.modules` is left alone. So
the reference, which judges, stays correct while a mutant answers.
"""

import ast
import builtins
from collections.abc import Mapping
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from mutants.source.operators import FLIP
from mutants.source.source_mutants import MODULES, SourceMutant, parse_module, sites, source_of
from skipproof.stand.adapters.serving import failure
from skipproof.stand.workers.workers import Hello

_PACKAGE = "skipproof.stand.reference."
_FLIP_ONE_IN = 7
# A mutant's loop over the cells of a row group may never end; the correct one has five turns at most.
_TURNS_MAX = 20_000
_COUNT_TURN, _RECORD = "count_turn", "record_statement"


class EndlessLoop(RuntimeError):
    """A loop of a mutant had too many turns."""


class EngineCopy:
    """A client of one copy of the small engine, which may be mutated.

    Args:
        mutant: The mutant; None is the correct engine.
        tables: `files` or `own`, as for the small engine.
        is_recording: Whether the copy records the statements that it executes.
    """

    def __init__(
        self, mutant: SourceMutant | None = None, *, tables: str = "files", is_recording: bool = False
    ) -> None:
        self.executed: set[tuple[str, int]] = set()
        self._turns = self._flips = 0
        codes: dict[str, CodeType] = {}
        if mutant is not None:
            codes[mutant.module] = _compile(mutant.tree(), mutant.module)
        elif is_recording:
            codes |= {module: _recording_code(module) for module in MODULES}
        additions = {FLIP: self._flip, _COUNT_TURN: self._count_turn, _RECORD: self.executed.add}
        loader = _Loader(codes, additions, _correct_modules())
        version = "correct" if mutant is None else mutant.key
        self._engine = loader.module("engine").SmallEngine(version=version, tables=tables)
        self.hello: Hello = self._engine.hello

    @property
    def saved(self) -> Mapping[str, int]:
        """The counts of what the engine did not read."""
        return dict(self._engine.rules.saved)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Answer a request; an error of the engine is its answer, as from a worker."""
        self._turns = 0
        try:
            reply: dict[str, Any] = self._engine.ask(**request)
        except Exception as error:
            return failure(error)
        return reply

    @property
    def rules(self) -> Any:
        """The engine's rules."""
        return self._engine.rules

    def open_table(self, table: Any, settings: Mapping[str, str]) -> Any:
        """Return a table of a request with its statistics and partitions."""
        return self._engine._open_table(table, settings)

    def close(self) -> None:
        """Do nothing, because there is no process to end."""

    def _flip(self, truth: Any) -> Any:
        """Return a truth value, negated at each seventh call."""
        self._flips += 1
        return not truth if self._flips % _FLIP_ONE_IN == 0 else truth

    def _count_turn(self) -> None:
        """Count one turn of a loop.

        Raises:
            EndlessLoop: there were too many since the request.
        """
        self._turns += 1
        if self._turns > _TURNS_MAX:
            raise EndlessLoop(f"more than {_TURNS_MAX} turns")


class _Loader:
    """Executes modules of the small engine, each in a namespace of its own.

    Args:
        codes: The changed code of modules.
        additions: Functions that the changed code calls.
        correct: Has the modules that no changed code reaches; they have no state but caches of patterns.
    """

    def __init__(
        self, codes: Mapping[str, CodeType], additions: Mapping[str, Any], correct: "_Loader | None" = None
    ) -> None:
        self._codes, self._additions, self._correct = codes, additions, correct
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}

    def module(self, name: str) -> Any:
        """Return a module; it is executed when it is first needed."""
        if self._correct is not None and not _reachable(name) & self._codes.keys():
            return self._correct.module(name)
        if name not in self._modules:
            # Another name than the original's, because dataclasses look up their module by it.
            module = ModuleType(f"mutated.{name}")
            vars(module).update(self._additions, __builtins__=self._builtins)
            self._modules[name] = module
            exec(self._codes.get(name) or _correct_code(name), vars(module))
        return self._modules[name]

    def _import(self, name: str, *arguments: Any) -> Any:
        """Import a module of the small engine from here, and any other as usual."""
        if name.startswith(_PACKAGE):
            return self.module(name.removeprefix(_PACKAGE))
        return builtins.__import__(name, *arguments)


def correct_module(name: str) -> Any:
    """Return a module as it is, with the values of the copies; those of the judge are others."""
    return _correct_modules().module(name)


@cache
def _correct_modules() -> _Loader:
    """Return the modules as they are, which all copies share; their loops end."""
    return _Loader({}, {_COUNT_TURN: lambda: None})


@cache
def _reachable(module: str) -> frozenset[str]:
    """Return the modules of the small engine that a module imports, directly or not, and itself."""
    imports = (node.module for node in ast.walk(parse_module(module)) if isinstance(node, ast.ImportFrom))
    names = [name.removeprefix(_PACKAGE) for name in imports if name and name.startswith(_PACKAGE)]
    return frozenset({module}).union(*map(_reachable, names))


@cache
def _correct_code(module: str) -> CodeType:
    """Return the code of a module as it is."""
    return _compile(parse_module(module), module)


@cache
def _recording_code(module: str) -> CodeType:
    """Return the code of a module that records each statement before it is executed."""
    tree = parse_module(module)
    ordinals = {id(site.node): site.statement for site in sites(tree) if isinstance(site.node, ast.stmt)}
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            body = getattr(node, field, None)
            if isinstance(body, list):
                setattr(node, field, [part for old in body for part in _recorded(old, module, ordinals)])
    return _compile(tree, module)


def _recorded(node: ast.stmt, module: str, ordinals: Mapping[int, int | None]) -> list[ast.stmt]:
    """Return a statement after one that records it; a function records that it was called."""
    ordinal = ordinals.get(id(node))
    if ordinal is None:
        return [node]
    record = _statement(f"{_RECORD}(({module!r}, {ordinal}))", node)
    if isinstance(node, ast.FunctionDef):
        node.body.insert(0, record)
        return [node]
    return [record, node]


def _compile(tree: ast.Module, module: str) -> CodeType:
    """Compile a module; the turns of its loops without an end of their own are counted."""
    for node in ast.walk(tree) if "while" in source_of(module) else ():
        if isinstance(node, ast.While):
            node.body.insert(0, _statement(f"{_COUNT_TURN}()", node))
    return compile(tree, f"<mutated {module}>", "exec")


def _statement(code: str, node: ast.stmt) -> ast.stmt:
    """Return a statement of code, at the place of another."""
    return ast.fix_missing_locations(ast.copy_location(ast.parse(code).body[0], node))
