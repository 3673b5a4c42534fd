"""The mutants that the operators make of the small engine's source, each with a stable name."""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import count, islice
from pathlib import Path
from typing import cast

import skipproof.stand.reference
from mutants.source.operators import OPERATORS

# What the engine executes to prune and to answer. Not among them: `values` and `evaluating`, which say what
# expressions mean, and `engine`, which opens the tables.
MODULES = (
    "aggregating",
    "answering",
    "joining",
    "judging",
    "pruning",
    "ranges",
    "relations",
    "selecting",
    "statistics",
    "subqueries",
    "tables",
)
# The functions that only deletes and updates reach, or that read tables of the engine's own.
OF_OWN_TABLES = frozenset(
    {
        "pruning.Rules.changed_table",
        "answering.changed_rows",
        "answering.updated_row",
        "tables.from_blocks",
        "tables._columns",
        "tables._chunk",
    }
)
# Functions of the plain form alone, in which nothing is pruned.
_OF_PLAIN_FORM = frozenset({"subqueries.value_of_subquery"})
_MODULE_LEVEL = "constants"
_DIRECTORY = Path(skipproof.stand.reference.__path__[0])


@dataclass(frozen=True, slots=True)
class Site:
    """A node that an operator may replace.

    Attributes:
        scope: The class and the function around it.
        statement: The ordinal of the statement around it; None outside of functions, where it always runs.
    """

    node: ast.AST
    scope: str
    statement: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMutant:
    """A wrong version of one module of the small engine.

    Attributes:
        name: The module, the scope, the operator, and the ordinal of the change among those of the operator
            within the scope; no line number.
        kind: The kind of the operator.
        site, choice: The ordinals of the node, and of the operator's replacement for it.
    """

    name: str
    kind: str
    module: str
    scope: str
    site: int
    choice: int
    statement: int | None

    @property
    def key(self) -> str:
        """The name in a form that does not reveal it."""
        return sha256(self.name.encode()).hexdigest()[:16]

    @property
    def is_open(self) -> bool:
        """Tell whether the mutant is of the half that may be looked at; the hash of its name decides.

        Its last digit does: samples are taken in the order of the first ones.
        """
        return int(self.key[-1], 16) % 2 == 0

    @property
    def tables(self) -> str:
        """The tables of the engine that reaches the change."""
        return "own" if f"{self.module}.{self.scope}" in OF_OWN_TABLES else "files"

    def tree(self) -> ast.Module:
        """Return the syntax tree of the module with the change."""
        tree = parse_module(self.module)
        node, replacement = self._edit(tree)
        ast.fix_missing_locations(ast.copy_location(replacement, node))
        return cast(ast.Module, _Replacement(node, replacement).visit(tree))

    def change(self) -> str:
        """Return the code before and after the change, in one line."""
        parts = self._edit(parse_module(self.module))
        before, after = (" ".join(ast.unparse(part).split())[:200] for part in parts)
        return f"{before}  ->  {after}"

    def _edit(self, tree: ast.Module) -> tuple[ast.AST, ast.AST]:
        """Return the node of a tree of the module that changes, and its replacement."""
        node = next(islice(sites(tree), self.site, None)).node
        _, replacement = next(islice(OPERATORS[self.kind](node), self.choice, None))
        return node, replacement


class _Replacement(ast.NodeTransformer):
    """Replaces one node of a tree."""

    def __init__(self, node: ast.AST, replacement: ast.AST) -> None:
        self._node, self._replacement = node, replacement

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the replacement for the node, and other nodes with their own parts visited."""
        return self._replacement if node is self._node else self.generic_visit(node)


@cache
def source_of(module: str) -> str:
    """Return the source of a module of the small engine."""
    return (_DIRECTORY / f"{module}.py").read_text()


def parse_module(module: str) -> ast.Module:
    """Return a new syntax tree of a module of the small engine."""
    return ast.parse(source_of(module))


def sites(tree: ast.Module) -> Iterator[Site]:
    """Yield the nodes of a module that an operator may replace, in the order of the source.

    Left out are documentation, annotations, default values, assertions, and what the engine counts.
    """
    statements = count()

    def visit(node: ast.AST, scope: str, statement: int | None) -> Iterator[Site]:
        if _is_left_out(node):
            return
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            inside = node.name if scope == _MODULE_LEVEL else f"{scope}.{node.name}"
            if isinstance(node, ast.FunctionDef):
                # A change of the whole function shows as soon as its first statement would run.
                statement = next(statements)
                yield Site(node, inside, statement)
            for inner in node.body:
                yield from visit(inner, inside, statement)
            return
        if isinstance(node, ast.stmt) and statement is not None:
            statement = next(statements)
        yield Site(node, scope, statement)
        for part in _parts(node):
            yield from visit(part, scope, statement)

    for outer in tree.body:
        yield from visit(outer, _MODULE_LEVEL, None)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a node without annotations; of an assignment of several values, these alone."""
    if isinstance(node, ast.AnnAssign):
        return iter(() if node.value is None else (node.value,))
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
        return iter(node.value.elts if isinstance(node.value, ast.Tuple) else (node.value,))
    return ast.iter_child_nodes(node)


def _is_left_out(node: ast.AST) -> bool:
    """Tell whether no change of a node can be a fault of the engine."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert | ast.arguments):
        return True
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias":
        return True
    return isinstance(node, ast.AugAssign) and "self.saved" in ast.unparse(node.target)


@cache
def source_mutants() -> tuple[SourceMutant, ...]:
    """Return all mutants whose code differs from the original and from that of an earlier one."""
    return tuple(mutant for module in MODULES for mutant in _mutants_of(module))


def _mutants_of(module: str) -> Iterator[SourceMutant]:
    """Yield the mutants of a module."""
    ordinals = Counter[tuple[str, str]]()
    for number, site in enumerate(sites(parse_module(module))):
        if f"{module}.{site.scope}" in _OF_PLAIN_FORM:
            continue
        codes = {ast.dump(site.node)}
        for kind, operator in OPERATORS.items():
            for choice, (words, replacement) in enumerate(operator(site.node)):
                ordinals[site.scope, words] += 1
                code = ast.dump(replacement)
                if code in codes:
                    continue
                codes.add(code)
                yield SourceMutant(
                    name=f"{module}.{site.scope}: {words} {ordinals[site.scope, words]}",
                    kind=kind,
                    module=module,
                    scope=site.scope,
                    site=number,
                    choice=choice,
                    statement=site.statement,
                )
