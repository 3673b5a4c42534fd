"""The expressions whose proofs are those of the rules of predicates, choices and leaves."""

from decimal import Decimal

from pruning.expressions.names import Inside
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Element,
    Expression,
    Function,
    In,
    IsNull,
    Literal,
    Mode,
    Not,
    Opaque,
    Operator,
    Or,
    Order,
    Quantified,
    Quantifier,
    type_of,
)
from pruning.expressions.types import (
    BOOLEAN,
    DOUBLE,
    INTEGER,
    NULL,
    STRING,
    Type,
    decimal,
    unknown,
)
from skipproof.proofs.subjects.parts import INFINITY, NAN, A, B, C, D, P, Q, R, S, X, Y, equal, less, literal


def _comparisons() -> dict[str, Expression]:
    subjects: dict[str, Expression] = {}
    sides: dict[str, tuple[Expression, Expression]] = {
        "columns": (A, B),
        "column and literal": (A, literal(5)),
        "literal and column": (literal(5), A),
        "column and NULL": (A, literal(None)),
        "greatest integer": (A, literal(2**31 - 1)),
        "floats": (X, Y),
        "float and NaN": (X, literal(NAN, DOUBLE)),
        "float and infinity": (X, literal(INFINITY, DOUBLE)),
        "float and number": (X, literal(2.5, DOUBLE)),
        "column and itself": (A, A),
        "strings": (S, literal(b"m", STRING)),
        "decimals": (D, literal(Decimal("1.50"), decimal(10, 2))),
        "booleans": (P, Q),
        "boolean and TRUE": (P, literal(True, BOOLEAN)),
        "boolean and FALSE": (literal(False, BOOLEAN), P),
        "boolean and NULL": (P, literal(None, BOOLEAN)),
        "an unknown type": (Opaque("u", unknown("map<int,int>")), Opaque("v", unknown("map<int,int>"))),
    }
    for operator in Comparison:
        for name, (left, right) in sides.items():
            subjects[f"{operator.value} of {name}"] = Compare(operator, left, right)
    return subjects


def _orders() -> dict[str, Expression]:
    return {
        "columns": Order(A, B),
        "floats": Order(X, Y),
        "column and constant": Order(A, literal(5)),
        "strings": Order(S, Column("t", STRING)),
        "itself": Order(A, A),
        "float and itself": Order(X, X),
        "NULLIF and its second": Order(_nullif(A, B), B),
        "NULLIF and its first": Order(A, _nullif(A, B)),
        "GREATEST and an operand": Order(Call(Function.GREATEST, (A, B), INTEGER), B),
    }


def _connectives() -> dict[str, Expression]:
    between = And((less(literal(2), A), less(A, literal(9))))
    return {
        "AND": And((P, Q, R)),
        "OR": Or((P, Q, R)),
        "NOT": Not(P),
        "AND that narrows": And((less(A, B), less(B, C), less(C, literal(4)))),
        "OR that narrows": Or((less(A, B), less(B, C), Not(less(C, literal(4))))),
        "NOT of OR": Not(Or((less(A, literal(4)), less(literal(3), A)))),
        "AND of OR": And((Or((less(A, literal(3)), less(literal(5), B))), less(literal(7), A))),
        "OR of AND": Or((And((less(A, B), IsNull(C))), And((equal(A, C), P)))),
        "IS TRUE of AND": Compare(Comparison.NULL_SAFE_EQUAL, between, literal(True, BOOLEAN)),
        "IS NOT TRUE of AND": Not(Compare(Comparison.NULL_SAFE_EQUAL, between, literal(True, BOOLEAN))),
        "IS NULL of AND": And((IsNull(between), less(A, literal(4)))),
        "floats narrowed": And((less(X, Y), Not(less(X, literal(1.5, DOUBLE))))),
        "BETWEEN": between,
        "two orders of two columns": And((less(A, B), Not(equal(A, B)), less(B, C))),
        "an order and its opposite": Or((less(X, Y), Not(less(X, Y)), P)),
    }


def _null_tests() -> dict[str, Expression]:
    return {
        "IS NULL": IsNull(A),
        "IS NULL of a float": IsNull(X),
        "IS NOT NULL": Not(IsNull(S)),
        "IS NULL of a boolean": IsNull(P),
        "IS NULL of a comparison": IsNull(less(A, B)),
        "IS NULL of NULL": IsNull(literal(None, NULL)),
    }


def _memberships() -> dict[str, Expression]:
    def integers(*values: int | None) -> tuple[Literal, ...]:
        return tuple(literal(value) for value in values)

    def floats(*values: float | None) -> tuple[Literal, ...]:
        return tuple(literal(value, DOUBLE) for value in values)

    return {
        "IN": In(A, integers(1, 2, 3, 7)),
        "IN with NULL": In(A, integers(1, None, 7)),
        "IN of NULL only": In(A, integers(None)),
        "IN many": In(A, integers(*range(0, 40, 3))),
        "IN floats": In(X, floats(1.0, 2.5, -0.0)),
        "IN with NaN": In(X, floats(1.0, NAN)),
        "IN with NaN and NULL": In(X, floats(NAN, None)),
        "IN strings": In(S, (literal(b"", STRING), literal(b"k", STRING), literal(b"k\xff", STRING))),
        "IN expressions": In(A, (B, literal(3), C)),
        "NOT IN": Not(In(A, integers(4, 5))),
        "IN and NOT IN": And((In(A, integers(1, 9)), Not(In(A, integers(1, 2, None))))),
    }


def _nullif(value: Expression, other: Expression) -> Expression:
    return Case(((equal(value, other), literal(None, type_of(value))),), value)


def _conditionals() -> dict[str, Expression]:
    nested = Case(((less(B, literal(2)), A),), C)
    return {
        "IF": Case(((P, A),), B),
        "IF without ELSE": Case(((P, A),), literal(None, NULL)),
        "CASE": Case(((P, A), (Q, B)), C),
        "CASE of floats": Case(((P, X),), literal(None, NULL)),
        "CASE narrowed": Case(((less(A, literal(3)), A), (less(A, literal(8)), B)), A),
        "CASE nested": Case(((less(A, B), nested),), A),
        "boolean CASE": Case(((less(A, B), less(A, literal(3))),), Not(P)),
        "COALESCE": Coalesce((A, B, C)),
        "COALESCE of booleans": Coalesce((P, Q)),
        "COALESCE of sums": Coalesce((Arithmetic(Operator.ADD, A, B, INTEGER, Mode.TRY), literal(0))),
        "NULLIF equal to its second": equal(_nullif(A, B), B),
        "NULLIF of floats below its first": less(_nullif(X, Y), X),
        "COALESCE and its second": Compare(Comparison.AT_LEAST, Coalesce((A, B)), B),
        "NULL-safe COALESCE and its second": Compare(Comparison.NULL_SAFE_EQUAL, Coalesce((A, B)), B),
        "GREATEST below an operand": less(Call(Function.GREATEST, (A, B, C), INTEGER), B),
        "LEAST of floats and an operand": equal(X, Call(Function.LEAST, (Y, X), DOUBLE)),
        "IF above a value": less(literal(3), Case(((P, Arithmetic(Operator.ADD, A, A, INTEGER)),), A)),
    }


def _quantifiers() -> dict[str, Expression]:
    element, number = Element("xs", (), INTEGER), Element("ys", ("price",), DOUBLE)
    exists, forall = Quantifier.EXISTS, Quantifier.FORALL
    item = Call(Function.ELEMENT_AT, (element, literal(1)), INTEGER)
    above, below = less(literal(7), element), less(element, literal(3))

    def held_at(key: Expression, type_: Type = INTEGER) -> Expression:
        values, keys = Element("m", (), type_, Inside.VALUES), Element("m", (), type_of(key), Inside.KEYS)
        return Call(Function.MAP_VALUE, (values, keys, key), type_)

    return {
        "element": element,
        "the value of a key": held_at(literal(3)),
        "the value of a key >": less(literal(7), held_at(literal(b"k", STRING))),
        "the value of a key of the row IS NULL": IsNull(held_at(A, DOUBLE)),
        "the value of a float": equal(held_at(X), literal(3)),
        "the values of two keys": And(
            (equal(held_at(literal(1)), literal(3)), equal(held_at(A), literal(5)))
        ),
        "exists": Quantified(exists, "xs", above),
        "forall": Quantified(forall, "xs", below),
        "exists of a field": Quantified(exists, "ys", less(number, X)),
        "an item": item,
        "an item =": equal(item, literal(3)),
        "the greatest item": less(literal(7), Call(Function.ARRAY_MAX, (element,), INTEGER)),
        "the least item": less(Call(Function.ARRAY_MIN, (number,), DOUBLE), X),
        "an item and another": And((equal(item, literal(3)), Quantified(exists, "xs", above))),
        "two elements": And((Quantified(exists, "xs", above), Quantified(exists, "xs", below))),
        "one element": Quantified(exists, "xs", And((above, below))),
        "NOT exists": Not(Quantified(exists, "xs", above)),
        "not all": Not(Quantified(forall, "xs", Or((below, IsNull(element))))),
        "narrowed by the row": And((less(A, literal(2)), Quantified(exists, "xs", equal(element, A)))),
    }


def _leaves() -> dict[str, Expression]:
    return {
        "integer": literal(5),
        "NULL": literal(None, NULL),
        "NaN": literal(NAN, DOUBLE),
        "TRUE": literal(True, BOOLEAN),
        "string": literal(b"x", STRING),
        "column": A,
        "float column": X,
        "boolean column": P,
        "opaque": Opaque("f(x)", DOUBLE),
        "opaque boolean": Opaque("f(x)", BOOLEAN),
    }


SUBJECTS: dict[str, dict[str, Expression]] = {
    "leaves": _leaves(),
    "comparison": _comparisons(),
    "order": _orders(),
    "boolean": _connectives(),
    "null_test": _null_tests(),
    "membership": _memberships(),
    "quantifiers": _quantifiers(),
    "conditional": _conditionals(),
}
