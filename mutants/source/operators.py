"""Mutation operators: from a node of a syntax tree, nodes that may replace it.

The kinds are those of faults in pruning (comparison, null count, bound, offset, list, page, race) and the
usual ones of mutation testing (logic, constant, arithmetic, condition, return, statement).

mutmut and cosmic-ray have most of the usual operators, but they write each mutant into a file and run a test
suite in a process of its own; here a mutant is an engine within a hunt, thousands of them side by side, and
what decides is the stand's judge. So only the operators are needed, and those of pruning are in neither.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import Any, TypeAlias

Edits: TypeAlias = Iterator[tuple[str, ast.AST]]

# The name by which a mutant calls a function that negates a truth value at each seventh call.
FLIP = "negate_each_seventh"

_OTHER_COMPARISONS: Mapping[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_OTHER_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_OTHER_EXTREMES = {"min": "max", "max": "min"}
_OTHER_BOUNDS = {"lower": "upper", "upper": "lower"}
_OTHER_QUANTIFIERS = {"any": "all", "all": "any"}
_COUNTS = ("nulls", "nans")
_ZEROS = ("0", "False")
_CERTAINTIES = ("exact", "bounded")
_LIMITS = {"offset": 0, "limit": None, "at_most": 1}
_NUMBERS_OF_ROWS = ("needed", "limit", "offset")


def _with(node: Any, **fields: Any) -> Any:
    """Return a copy of a node with other fields."""
    changed = copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _without(members: list[Any], position: int) -> list[Any]:
    """Return a list without the member at a position."""
    return [*members[:position], *members[position + 1 :]]


def _constant(value: int | None) -> ast.Constant:
    """Return a constant."""
    return ast.Constant(value)


def _call(name: str, *operands: ast.expr) -> ast.Call:
    """Return a call of a function."""
    return ast.Call(ast.Name(name, ast.Load()), list(operands), [])


def _one_more(node: ast.expr, step: int) -> ast.BinOp:
    """Return an expression plus a number."""
    return ast.BinOp(node, ast.Add(), _constant(step))


def _is_read(node: ast.AST) -> bool:
    """Tell whether a name, an attribute or an item is read, and not assigned."""
    return isinstance(getattr(node, "ctx", None), ast.Load)


def comparisons(node: ast.AST) -> Edits:
    """Yield a comparison with one of its operators replaced by a neighbour or by its opposite."""
    if isinstance(node, ast.Compare):
        for position, operator in enumerate(node.ops):
            for other in _OTHER_COMPARISONS[type(operator)]:
                operators = [*node.ops[:position], other(), *node.ops[position + 1 :]]
                yield f"{type(operator).__name__} to {other.__name__}", _with(node, ops=operators)


def null_counts(node: ast.AST) -> Edits:
    """Yield counts of NULL and NaN that are 0, and tests for NaN that fail."""
    if isinstance(node, ast.Attribute) and node.attr in _COUNTS and _is_read(node):
        yield f"{node.attr} to none", _constant(False)
    if isinstance(node, ast.keyword) and node.arg in _COUNTS and ast.unparse(node.value) not in _ZEROS:
        yield f"{node.arg} is none", _with(node, value=_constant(False))
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance" and "Nan" in ast.unparse(node):
        yield "never NaN", _constant(False)


def bounds(node: ast.AST) -> Edits:
    """Yield bounds that are exchanged, kept, or believed although they are widened."""
    if isinstance(node, ast.Name) and node.id in _OTHER_EXTREMES and _is_read(node):
        yield f"{node.id} exchanged", _with(node, id=_OTHER_EXTREMES[node.id])
    if isinstance(node, ast.Attribute) and _is_read(node):
        if node.attr in _OTHER_BOUNDS:
            yield f"{node.attr} exchanged", _with(node, attr=_OTHER_BOUNDS[node.attr])
        if node.attr in _CERTAINTIES:
            yield f"{node.attr} to True", _constant(True)
    if isinstance(node, ast.keyword) and node.arg in _CERTAINTIES:
        yield f"is {node.arg}", _with(node, value=_constant(True))
    if isinstance(node, ast.Call):
        for position, keyword in enumerate(node.keywords):
            if keyword.arg in _OTHER_BOUNDS:
                yield f"{keyword.arg} kept", _with(node, keywords=_without(node.keywords, position))


def offsets(node: ast.AST) -> Edits:
    """Yield limits and offsets that are ignored, or wrong by one."""
    if isinstance(node, ast.Subscript) and _is_read(node) and isinstance(node.slice, ast.Constant):
        name = node.slice.value
        if name in _LIMITS:
            yield f"{name} ignored", _constant(_LIMITS[name])
    if isinstance(node, ast.Name) and node.id in _NUMBERS_OF_ROWS and _is_read(node):
        for step, words in ((1, "more"), (-1, "fewer")):
            yield f"{node.id} {words}", ast.BoolOp(ast.And(), [node, _one_more(node, step)])


def lists(node: ast.AST) -> Edits:
    """Yield lists without a member or a condition, other quantifiers, and the member at the other end."""
    if isinstance(node, ast.Name) and node.id in _OTHER_QUANTIFIERS and _is_read(node):
        yield f"{node.id} to {_OTHER_QUANTIFIERS[node.id]}", _with(node, id=_OTHER_QUANTIFIERS[node.id])
    if isinstance(node, ast.Set) or (isinstance(node, ast.List | ast.Tuple) and _is_read(node)):
        is_droppable = all(isinstance(member, ast.Constant | ast.Starred) for member in node.elts)
        for position in range(len(node.elts) if is_droppable and len(node.elts) > 1 else 0):
            yield "member dropped", _with(node, elts=_without(node.elts, position))
    if isinstance(node, ast.comprehension):
        for position in range(len(node.ifs)):
            yield "condition dropped", _with(node, ifs=_without(node.ifs, position))
    if isinstance(node, ast.Subscript) and _is_read(node) and ast.unparse(node.slice) == "0":
        yield "first to last", _with(node, slice=_constant(-1))


def pages(node: ast.AST) -> Edits:
    """Yield ranges of positions and slices whose ends are wrong by one, or missing."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "range" and len(node.args) == 2:
        start, end = node.args
        yield "range starts later", _with(node, args=[_one_more(start, 1), end])
        yield "range ends earlier", _with(node, args=[start, _one_more(end, -1)])
    if isinstance(node, ast.Slice):
        for name in ("lower", "upper"):
            end = getattr(node, name)
            if end is not None:
                yield f"slice without {name} end", _with(node, **{name: None})
                yield f"slice {name} end more", _with(node, **{name: _one_more(end, 1)})
                yield f"slice {name} end less", _with(node, **{name: _one_more(end, -1)})


def races(node: ast.AST) -> Edits:
    """Yield decisions that are wrong now and then, so that the same question gets several answers."""
    if isinstance(node, ast.If | ast.IfExp):
        yield "condition wavers", _with(node, test=_call(FLIP, node.test))
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp):
        yield "result wavers", _with(node, value=_call(FLIP, node.value))
    if isinstance(node, ast.comprehension):
        for position, test in enumerate(node.ifs):
            tests = [*node.ifs[:position], _call(FLIP, test), *node.ifs[position + 1 :]]
            yield "choice wavers", _with(node, ifs=tests)


def logic(node: ast.AST) -> Edits:
    """Yield AND for OR and the reverse, operands left out, and NOT removed."""
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"{type(node.op).__name__} to {type(other).__name__}", _with(node, op=other)
        for position in range(len(node.values)):
            rest = _without(node.values, position)
            yield "operand dropped", rest[0] if len(rest) == 1 else _with(node, values=rest)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
        yield f"{type(node.op).__name__} removed", node.operand


def constants(node: ast.AST) -> Edits:
    """Yield numbers that are wrong by one, and the other truth value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} to {not node.value}", _constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield "number more", _constant(node.value + 1)
        yield "number less", _constant(node.value - 1)


def arithmetic(node: ast.AST) -> Edits:
    """Yield other arithmetic, also in assignments; and its first operand alone."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _OTHER_ARITHMETIC:
        other = _OTHER_ARITHMETIC[type(node.op)]
        yield f"{type(node.op).__name__} to {other.__name__}", _with(node, op=other())
    if isinstance(node, ast.BinOp):
        yield "first operand alone", node.left


def conditions(node: ast.AST) -> Edits:
    """Yield conditions that always hold or never do, and the opposite of those without a comparison."""
    if isinstance(node, ast.If | ast.IfExp):
        yield "condition to True", _with(node, test=_constant(True))
        yield "condition to False", _with(node, test=_constant(False))
        if not isinstance(node.test, ast.Compare | ast.UnaryOp):
            yield "condition negated", _with(node, test=ast.UnaryOp(ast.Not(), node.test))


def returns(node: ast.AST) -> Edits:
    """Yield functions that return at once: a truth value, or an operand of the type of the result."""
    if not isinstance(node, ast.FunctionDef) or node.returns is None:
        return
    result = ast.unparse(node.returns)
    if result == "bool":
        for value in (True, False):
            yield f"returns {value}", _with(node, body=[ast.Return(_constant(value))])
    for operand in (*node.args.args, *node.args.kwonlyargs):
        if operand.annotation is not None and ast.unparse(operand.annotation) == result:
            body = [ast.Return(ast.Name(operand.arg, ast.Load()))]
            yield f"returns {operand.arg}", _with(node, body=body)


def statements(node: ast.AST) -> Edits:
    """Yield nothing in place of a call, an assignment that changes a variable, or the end of a loop."""
    if isinstance(node, ast.AugAssign | ast.Expr | ast.Break | ast.Continue):
        yield f"{type(node).__name__} deleted", ast.Pass()
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        target = node.targets[0].id
        names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
        if target in names:
            yield "Assign deleted", ast.Pass()


OPERATORS: Mapping[str, Callable[[ast.AST], Edits]] = {
    "comparison": comparisons,
    "null count": null_counts,
    "bound": bounds,
    "offset": offsets,
    "list": lists,
    "page": pages,
    "race": races,
    "logic": logic,
    "constant": constants,
    "arithmetic": arithmetic,
    "condition": conditions,
    "return": returns,
    "statement": statements,
}
