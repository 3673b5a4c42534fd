"""A directed check of mutants: small tables and simple questions, drawn without the strategies of the hunt.

It decides which survivors of the hunt are wrong, so it must not draw as the hunt does. It also asks for what
an answer seldom shows: whether a row group has a truth value that the rules exclude.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from mutants.source.copies import EngineCopy, correct_module
from mutants.source.searching import SearchResult
from mutants.source.source_mutants import SourceMutant

Json: TypeAlias = Any

_POOLS: dict[str, tuple[Json, ...]] = {
    "int8": (-128, -127, -20, -3, -1, 0, 1, 2, 9, 10, 11, 126, 127),
    "int64": (-(2**63), -25, -10, -1, 0, 1, 3, 9, 10, 19, 20, 2**63 - 1),
    "uint8": (0, 1, 9, 10, 200, 255),
    "float64": ("NaN", "-NaN", -1.5, "-0.0", 0.0, 2.0, 2.5, "Infinity", "-Infinity"),
    "string": ("", "a", "ab", "abc", "b", "a" * 16, "a" * 17, "a" * 16 + "b", "\U0010ffff" * 17, "a%"),
    "date": (-400, -1, 0, 1, 30, 31, 365, 366, 20_000),
    "boolean": (False, True),
}  # fmt: skip
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "is distinct from", "is not distinct from")
_PATTERNS = ("%", "a%", "ab", "a_", "%b", "ab%c", "a\\%", "aaaaaaaaaaaaaaaaa%", "")
_STATISTICS = ("all", "all", "no counts", "no bounds")
_PARTITIONS = ("none", "none", "identity", "truncate", "bucket")
_JOINS = ("inner", "left", "right", "full", "semi", "anti", "not in")
_SETS = ("union", "intersect", "except")
_TRUTHS = {True: 1, False: 2, None: 4}
_CONDITIONS_PER_TABLE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleCase:
    """Two tables of the engine's own, and questions about them."""

    tables: Json
    settings: dict[str, str]
    conditions: Sequence[Json]
    questions: Sequence[Json]


class _Drawing:
    """Draws cases of one type of columns with a random generator."""

    def __init__(self, seed: int, number: int) -> None:
        self._random = random.Random(f"{seed}/{number}")
        self._type = self._choose(list(_POOLS))

    def case(self) -> RuleCase:
        """Draw a case."""
        conditions = [self._condition(2) for _ in range(_CONDITIONS_PER_TABLE)]
        return RuleCase(
            tables={"t": self._table("ab"), "u": self._table("cd")},
            settings={"statistics": self._choose(_STATISTICS), "partitions": self._choose(_PARTITIONS)},
            conditions=conditions,
            questions=[self._question(self._choose((*conditions, None))) for _ in conditions],
        )

    def _choose(self, values: Sequence[Any]) -> Any:
        return self._random.choice(values)

    def _value(self) -> Json:
        """Draw a value or NULL."""
        return self._choose((*_POOLS[self._type], None))

    def _table(self, names: str) -> Json:
        """Draw a table of a few row groups, some of which have one value or no NULL."""
        blocks = []
        for _ in range(self._random.randint(1, 3)):
            pool = self._random.sample(
                _POOLS[self._type], min(len(_POOLS[self._type]), self._choose((1, 2, 4)))
            )
            pool += self._choose(([], [None]))
            blocks.append([[self._choose(pool) for _ in names] for _ in range(self._choose((1, 2, 3, 5, 7)))])
        return {"columns": [{"name": name, "type": self._type} for name in names], "blocks": blocks}

    def _literal(self, value: Json = ...) -> Json:
        """Draw a literal of the columns' type, or return that of a value."""
        return {"literal": self._value() if value is ... else value, "type": self._type}

    def _number(self, value: float) -> Json:
        return {"literal": value, "type": self._type}

    def _expression(self, depth: int) -> Json:
        """Draw an expression of the columns' type."""
        column = {"column": self._choose("aaab")}
        if depth == 0 or self._random.random() < 0.4:
            return column
        inner = self._expression(depth - 1)
        common = [
            {"call": "coalesce", "of": [inner, self._literal()]},
            {"call": "nullif", "of": [inner, self._literal()]},
            {"call": "if", "of": [self._condition(0), inner, self._choose((self._literal(), column))]},
        ]
        if "int" in self._type:
            number = self._number(self._choose((1, 2, 3, 10)))
            common += [{"call": name, "of": [inner, number]} for name in ("+", "-", "*", "%", "//", ">>")]
            common += [{"call": name, "of": [inner]} for name in ("negate", "abs")]
            common += [{"call": "try cast", "of": [inner], "type": self._type}]
        if "float" in self._type:
            number = self._number(self._choose((1.0, 2.0, 0.5)))
            common += [{"call": name, "of": [inner, number]} for name in ("+", "-", "*", "/")]
            common += [{"call": name, "of": [inner]} for name in ("negate", "abs")]
        if self._type == "string":
            start, length = ({"literal": self._choose((1, 2)), "type": "int32"} for _ in range(2))
            common += [{"call": name, "of": [inner]} for name in ("lower", "upper")]
            common += [{"call": "substring", "of": [inner, start, length]}]
        if self._type == "date":
            common += [{"call": f"truncate to {unit}", "of": [inner]} for unit in ("year", "month")]
        return self._choose(common)

    def _condition(self, depth: int) -> Json:
        """Draw a condition."""
        if depth and self._random.random() < 0.4:
            name = self._choose(("and", "or", "not", "is true"))
            of = [self._condition(depth - 1) for _ in range(2 if name in ("and", "or") else 1)]
            return {"call": name, "of": of}
        left, literals = self._expression(depth), [self._literal() for _ in range(self._choose((1, 2, 3)))]
        tests = [
            {"call": self._choose(_COMPARISONS), "of": [left, self._choose((literals[0], {"column": "b"}))]},
            {"call": self._choose(("=", "<", ">=")), "of": [{"column": "a"}, literals[0]]},
            {"call": "in", "of": [left, *literals]},
            {"call": "between", "of": [left, self._literal(), self._literal()]},
            {"call": self._choose(("is null", "is not null")), "of": [left]},
        ]
        if self._type == "float64":
            tests.append({"call": "is nan", "of": [left]})
        if self._type == "string":
            tests.append({"call": "like", "of": [left, self._literal(self._choose(_PATTERNS))]})
            tests.append({"call": "starts with", "of": [left, self._literal(self._choose(("a", "ab", "")))]})
        return self._choose(tests)

    def _question(self, where: Json) -> Json:
        """Draw a question whose answer is determined."""
        question = _question(_relation("t", where), select=["a", "b"])
        area = self._choose(("aggregate", "join", "set", "window", "topk", "dml"))
        if area == "aggregate":
            return question | {"area": area, "select": [], "aggregates": self._aggregates()}
        if area == "join":
            kind = self._choose(_JOINS)
            sides = ["a"] if kind in ("semi", "anti", "not in") else ["a", "c"]
            join = {"kind": kind, "right": _relation("u", None), "left_key": "a", "right_key": "c"}
            join |= {"null_safe": self._flag(), **({} if kind == "not in" else self._condition_of_join())}
            return question | {"area": area, "select": sides, "join": join}
        if area == "set":
            right = {"right": _relation("u", None), "columns": ["c"], "all": self._flag()}
            return question | {"area": area, "select": ["a"], "set": right | {"kind": self._choose(_SETS)}}
        if area == "window":
            function, count = self._choose(("rank", "dense_rank")), self._choose((1, 2, 4))
            window = {"function": function, "partition": None, "order": [self._key()], "at_most": count}
            return question | {"area": area, "window": window}
        if area == "dml":
            change = self._choose(("delete", "b"))
            to = None if change == "delete" else self._literal()
            return question | {
                "area": area,
                "change": change,
                "to": to,
                "source": _relation("t", where or _ALL),
            }
        limits = {"limit": self._choose((0, 1, 2, 5)), "offset": self._choose((0, 0, 1, 3))}
        # Rows that are equal in the only selected column are the same.
        return question | {"area": area, "select": ["a"], "order": [self._key("a")], **limits}

    def _condition_of_join(self) -> Json:
        """Draw the condition of ON beside equal keys, or alone; or none."""
        if self._flag():
            return {}
        on = {"call": self._choose(("<", ">=", "!=")), "of": [{"column": "a"}, {"column": "c"}]}
        return {"on": on, "equal": self._flag()}

    def _flag(self) -> bool:
        return bool(self._choose((False, True)))

    def _key(self, name: str = "") -> Json:
        """Draw a key of an order."""
        by = {"column": name} if name else self._expression(1)
        return {"by": by, "descending": self._flag(), "nulls_first": self._flag()}

    def _aggregates(self) -> list[Json]:
        """Draw aggregates of a column, of an expression, or of all rows."""
        of = self._choose(("a", "b", self._expression(1), None))
        if of is None:
            return [{"function": "count", "of": None}]
        function = self._choose(("min", "max", "count"))
        others = self._choose(({}, {}, {"distinct": True}, {"where": self._condition(0)}))
        return [{"function": function, "of": of, **others}]


_ALL = {"call": "is not null", "of": [{"literal": 1, "type": "int64"}]}


def _relation(table: str, where: Json) -> Json:
    """Return a relation of all rows that satisfy a condition."""
    return {"table": table, "where": where, "distinct": None, "order": [], "limit": None, "offset": 0}


def _question(source: Json, *, select: list[str]) -> Json:
    """Return a question with nothing but a source and columns."""
    nothing = ("join", "second", "where", "group", "having", "window", "set", "limit", "change", "to")
    empty = {"aggregates": [], "order": [], "offset": 0, "repeat": 1, "area": "filter"}
    return {"source": source, "select": select, **dict.fromkeys(nothing), **empty}


@cache
def rule_cases(seed: int, count: int) -> tuple[tuple[RuleCase, list[list[str] | None]], ...]:
    """Return cases, each with the correct answers from all rows."""
    engine = EngineCopy(tables="own")
    cases = [_Drawing(seed, number).case() for number in range(count)]
    return tuple((case, _answers(engine, case, is_plain=True)) for case in cases)


def search_directed(mutants: Sequence[SourceMutant], *, seed: int, examples: int) -> Iterator[SearchResult]:
    """Yield the result of each mutant for a number of cases, which count as its examples."""
    for mutant in mutants:
        count, verdict = rule_violation(mutant, seed=seed, cases=examples)
        yield SearchResult(mutant=mutant, seed=seed, verdict=verdict, examples=count)


def rule_violation(mutant: SourceMutant | None, *, seed: int, cases: int) -> tuple[int, str]:
    """Return the number of cases until one shows a fault of a mutant, and the fault.

    Args:
        mutant: None is the correct engine.
    """
    engine = EngineCopy(mutant, tables="own")
    for number, (case, answers) in enumerate(rule_cases(seed, cases), 1):
        try:
            fault = next(_excluded_truths(engine, case), "")
        except Exception as error:
            fault = f"{type(error).__name__} instead of truth values"
        if fault or _is_wrong(engine, case, answers):
            return number, fault or "another answer"
    return cases, ""


def _is_wrong(engine: EngineCopy, case: RuleCase, answers: Sequence[list[str] | None]) -> bool:
    """Tell whether an engine gives another answer; what fails with nothing to prune by is not judged."""
    pruned = _answers(engine, case, is_plain=False)
    if pruned == answers:
        return False
    plain = _answers(engine, case, is_plain=True)
    both = zip(pruned, plain, answers, strict=True)
    return any(answer != right and whole is not None for answer, whole, right in both)


def _excluded_truths(engine: EngineCopy, case: RuleCase) -> Iterator[str]:
    """Yield what the rules exclude of the conditions although a row has it."""
    compile_term = correct_module("evaluating").compile_term
    table = engine.open_table(case.tables["t"], case.settings)
    if len(table.rows) != sum(map(len, case.tables["t"]["blocks"])):
        yield "rows are lost"
    for condition in case.conditions:
        evaluate = compile_term(condition, table.schema)
        for group in table.groups:
            lookup = engine.rules.lookup(table, group)
            actual = [evaluate(row) for row in group.rows]
            allowed = engine.rules.truths(condition, lookup)
            if any(not _TRUTHS[truth] & allowed for truth in actual):
                yield "a truth value is excluded"
            chosen = engine.rules.matching_positions(condition, lookup, len(group.rows))
            if any(truth is True and at not in chosen for at, truth in enumerate(actual)):
                yield "a page with a matching row is excluded"


def _answers(engine: EngineCopy, case: RuleCase, *, is_plain: bool) -> list[list[str] | None]:
    """Return an engine's answers to the questions of a case, in a form that compares as bags; None failed."""
    tables = {
        name: table | ({"statistics": False} if is_plain else {}) for name, table in case.tables.items()
    }
    reply = engine.ask(tables=tables, settings=case.settings, questions=case.questions, sources=False)
    answers = reply.get("answers", [reply] * len(case.questions))
    return [sorted(map(repr, answer["rows"])) if "rows" in answer else None for answer in answers]
