"""Every class of the parser's trees is bound by a rule of its own, or refused by name."""

from datetime import datetime
from typing import Any

import pytest
from maintaining import TABLES, evaluated, query
from sqlglot import exp

from dynamic_tables.sql import expressions
from dynamic_tables.sql.expressions import BINDERS, Binder
from dynamic_tables.sql.relations import Names, bind_from
from dynamic_tables.values.errors import Refused
from pruning.errors import InputError


def subclasses(kind: type[Any]) -> set[type[Any]]:
    """A class and all that derive from it."""
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


UNBOUND = sorted(subclasses(exp.Expression) - BINDERS.keys(), key=lambda kind: kind.__name__)


def arguments() -> dict[str, Any]:
    """Arguments by which a rule could bind a node."""
    return {
        "this": exp.column("a"),
        "expression": exp.column("b"),
        "expressions": [exp.column("a"), exp.column("b")],
        "to": exp.DataType.build("int"),
    }


def test_a_class_without_a_rule_is_refused_whatever_it_derives_from(monkeypatch: pytest.MonkeyPatch) -> None:
    # The parser's writer fails on nodes that it would not make itself.
    monkeypatch.setattr(expressions, "sql_text", lambda node: type(node).__name__)
    binder = Binder(bind_from(exp.to_table("t"), Names(TABLES.get, {})), {})
    bound = []
    for kind in UNBOUND:
        try:
            binder.bind(kind(**{name: part for name, part in arguments().items() if name in kind.arg_types}))
        except Refused:
            continue
        bound.append(kind.__name__)
    assert not bound


ROWS = {"1": ("x", "y"), "2": (None, "y"), "3": ("", "")}


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("concat_ws('-', a, b)", [None, "-", "x-y"]),
        ("concat_ws('-', a)", [None, "", "x"]),
        ("concat_ws(a, b, b)", [None, "", "yxy"]),
        ("concat_ws(NULL, b, b)", [None, None, None]),
        ("concat_ws(', ', b, 1, a)", [None, ", 1, ", "y, 1, x"]),
    ],
)
def test_concat_ws_puts_its_first_argument_between_the_others(text: str, cells: list[str | None]) -> None:
    """It is NULL if any argument is, the separator too, as Snowflake has it; it was bound as CONCAT."""
    rows = evaluated(f"SELECT {text} AS v FROM t", {"t": ROWS})
    assert sorted((cell for (cell,) in rows), key=repr) == sorted(cells, key=repr)


def test_concat_ws_without_a_text_is_refused() -> None:
    with pytest.raises(InputError, match="CONCAT_WS takes a separator and at least one text"):
        query("SELECT concat_ws('-') AS v FROM t")


def test_try_cast_is_still_lenient() -> None:
    rows = evaluated("SELECT try_cast(a AS TIMESTAMP) AS v FROM t", {"t": {"1": ("2025-01-02", "")}})
    assert rows == [(datetime(2025, 1, 2),)]
    assert evaluated("SELECT try_cast(a AS INT) AS v FROM t", {"t": {"1": ("x", "")}}) == [(None,)]
