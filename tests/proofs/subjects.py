"""The expressions that are proved: for each rule, each way in which it decides.

A rule uses nothing of its operands but their ranges (and narrows columns that stand alone), so a
proof over columns of any range is a proof over any operands.
"""

from decimal import Decimal

from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Opaque,
    Operator,
    Or,
    Order,
    StartsWith,
    type_of,
)
from pruning.expressions.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
    Value,
    decimal,
    unknown,
)

A, B, C = (Column(name, INTEGER) for name in "abc")
X, Y = (Column(name, DOUBLE) for name in "xy")
S = Column("s", STRING)
P, Q, R = (Column(name, BOOLEAN) for name in "pqr")
D = Column("d", decimal(10, 2))
E = Column("e", decimal(12, 4))
NAN, INFINITY = float("nan"), float("inf")


def literal(value: Value | None, type_: Type = INTEGER) -> Literal:
    """A literal, of type int unless said."""
    return Literal(value, type_)


def less(left: Expression, right: Expression) -> Compare:
    """`left < right`."""
    return Compare(Comparison.LESS, left, right)


def equal(left: Expression, right: Expression) -> Compare:
    """`left = right`."""
    return Compare(Comparison.EQUAL, left, right)


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


def _prefixes() -> dict[str, Expression]:
    return {
        "startswith": StartsWith(S, b"ab"),
        "startswith nothing": StartsWith(S, b""),
        "startswith 0xFF": StartsWith(Column("s", BINARY), b"a\xff\xff"),
        "startswith only 0xFF": StartsWith(Column("s", BINARY), b"\xff"),
        "LIKE prefix": Like(S, b"N0%"),
        "LIKE prefix and more": Like(S, b"N0%x"),
        "LIKE with escapes": Like(S, rb"N\_0\%%"),
        "LIKE one character": Like(S, b"N_"),
        "LIKE without a prefix": Like(S, b"%x"),
        "NOT LIKE": Not(Like(S, b"N0%")),
        "two prefixes": And((StartsWith(S, b"ab"), StartsWith(S, b"b"))),
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


# By operator: a type in which D and E, or D and a literal of two digits, always fit, as Spark gives it.
_DECIMAL_RESULTS = {
    Operator.ADD: decimal(13, 4),
    Operator.SUBTRACT: decimal(13, 4),
    Operator.MULTIPLY: decimal(23, 6),
    Operator.DIVIDE: decimal(27, 15),
    Operator.INTEGRAL_DIVIDE: LONG,
    Operator.REMAINDER: decimal(12, 4),
}


def _sums() -> dict[str, Expression]:
    subjects: dict[str, Expression] = {}
    for operator in Operator:
        for mode in Mode:
            subjects |= {
                f"{name}, {mode.name}": Arithmetic(operator, *sides, type_, mode)
                for name, (*sides, type_) in _operands_of(operator).items()
            }
        if operator is not Operator.INTEGRAL_DIVIDE:
            subjects[f"double {operator.value}"] = Arithmetic(operator, X, Y, DOUBLE)
    wide = Column("d", decimal(20, 0))
    for mode in Mode:
        scaled = Literal(Decimal("0.25"), decimal(2, 2))
        subjects[f"wide decimal div, {mode.name}"] = Arithmetic(
            Operator.INTEGRAL_DIVIDE, wide, scaled, LONG, mode
        )
    zero = Arithmetic(Operator.DIVIDE, X, literal(0.0, DOUBLE), DOUBLE, Mode.LEGACY)
    for operator, type_, result in (
        (Operator.SUBTRACT, BYTE, BYTE),
        (Operator.SUBTRACT, DOUBLE, DOUBLE),
        (Operator.REMAINDER, BYTE, BYTE),
        (Operator.REMAINDER, DOUBLE, DOUBLE),
        (Operator.DIVIDE, DOUBLE, DOUBLE),
        (Operator.DIVIDE, decimal(3, 1), decimal(8, 5)),
        (Operator.INTEGRAL_DIVIDE, LONG, LONG),
    ):
        own = Column("a", type_)
        subjects[f"{type_} {operator.value} itself"] = Arithmetic(operator, own, own, result, Mode.LEGACY)
    return subjects | {"double / 0": zero}


def _operands_of(operator: Operator) -> dict[str, tuple[Expression, Expression, Type]]:
    """The operands of an operator and the type of its result, by name."""
    symbol, result = operator.value, _DECIMAL_RESULTS[operator]
    cases: dict[str, tuple[Expression, Expression, Type]] = {f"decimal {symbol}": (D, E, result)}
    two = Literal(Decimal("-2.50"), decimal(3, 2))
    if operator is not Operator.INTEGRAL_DIVIDE:
        cases[f"decimal {symbol}, too narrow"] = (D, E, decimal(6, 3))
    if operator not in (Operator.ADD, Operator.SUBTRACT):
        cases[f"decimal {symbol} number"] = (D, two, result)
        if operator is not Operator.INTEGRAL_DIVIDE:
            cases[f"double {symbol} number"] = (X, literal(-2.5, DOUBLE), DOUBLE)
    integers = {Operator.DIVIDE: (), Operator.INTEGRAL_DIVIDE: (LONG,)}.get(operator, (BYTE, LONG))
    for type_ in integers:
        left, right = Column("a", type_), Column("b", type_)
        cases[f"{type_} {symbol}"] = (left, right, type_)
        if operator not in (Operator.ADD, Operator.SUBTRACT):
            cases[f"{type_} {symbol} 7"] = (left, literal(7, type_), type_)
            cases[f"-7 {symbol} {type_}"] = (literal(-7, type_), right, type_)
    return cases


def _casts() -> dict[str, Expression]:
    pairs = [
        (INTEGER, LONG),
        (LONG, BYTE),
        (INTEGER, DOUBLE),
        (LONG, FLOAT),
        (LONG, decimal(20, 0)),
        (INTEGER, decimal(10, 4)),
        (decimal(10, 2), decimal(12, 4)),
        (decimal(10, 2), decimal(6, 4)),
        (FLOAT, DOUBLE),
        (STRING, BINARY),
        (DATE, TIMESTAMP),
        (DATE, TIMESTAMP_NTZ),
        (TIMESTAMP, TIMESTAMP_NTZ),
        (TIMESTAMP_NTZ, TIMESTAMP),
        (DOUBLE, BYTE),
        (DOUBLE, INTEGER),
        (DOUBLE, LONG),
        (FLOAT, INTEGER),
        (DOUBLE, FLOAT),
        (DOUBLE, decimal(10, 2)),
        (FLOAT, decimal(6, 0)),
        (decimal(10, 2), DOUBLE),
        (decimal(10, 2), BYTE),
        (decimal(20, 2), INTEGER),
        (decimal(20, 2), LONG),
        (decimal(10, 4), decimal(8, 2)),
        (decimal(10, 4), decimal(6, 2)),
        (BOOLEAN, INTEGER),
        (BOOLEAN, DOUBLE),
        (BOOLEAN, decimal(1, 1)),
        (INTEGER, BOOLEAN),
        (DOUBLE, BOOLEAN),
        (decimal(10, 2), BOOLEAN),
    ]
    return {
        f"{source} to {target}, {mode.name}": Cast(Column("a", source), target, mode)
        for source, target in pairs
        for mode in Mode
    }


def _call(function: Function, *operands: Expression, type_: Type, mode: Mode = Mode.ANSI) -> Call:
    return Call(function, operands, type_, mode)


def _magnitudes() -> dict[str, Expression]:
    subjects: dict[str, Expression] = {"sign": _call(Function.SIGN, X, type_=DOUBLE)}
    for function in (Function.NEGATE, Function.ABS):
        for mode in (Mode.ANSI, Mode.LEGACY):
            for type_ in (BYTE, LONG):
                name = f"{function.value} of {type_}, {mode.name}"
                subjects[name] = _call(function, Column("a", type_), type_=type_, mode=mode)
        for type_ in (DOUBLE, decimal(10, 2), decimal(38, 2)):
            subjects[f"{function.value} of {type_}"] = _call(function, Column("a", type_), type_=type_)
    return subjects


def _roundings() -> dict[str, Expression]:
    subjects: dict[str, Expression] = {}
    small = Column("d", decimal(4, 1))
    for function in (Function.FLOOR, Function.CEIL):
        subjects[f"{function.value} of a double"] = _call(function, X, type_=LONG)
        subjects[f"{function.value} of a decimal"] = _call(function, D, type_=decimal(9, 0))
        subjects[f"{function.value} to tens"] = _call(function, small, literal(-1), type_=decimal(4, 0))
        subjects[f"{function.value} that overflows"] = _call(
            function, small, literal(-1), type_=decimal(3, 0)
        )
    for function in (Function.ROUND, Function.BROUND):
        for mode in (Mode.ANSI, Mode.LEGACY):
            name = f"{function.value} of an integer, {mode.name}"
            subjects[name] = _call(function, Column("a", BYTE), literal(-1), type_=BYTE, mode=mode)
            name = f"{function.value} of a decimal, {mode.name}"
            subjects[name] = _call(function, D, literal(1), type_=decimal(10, 1), mode=mode)
            name = f"{function.value} of a decimal that overflows, {mode.name}"
            subjects[name] = _call(function, D, literal(0), type_=decimal(8, 0), mode=mode)
        subjects[f"{function.value} of a double"] = _call(function, X, literal(1), type_=DOUBLE)
        subjects[f"{function.value} of a double to tens"] = _call(function, X, literal(-1), type_=DOUBLE)
    return subjects


def _elementaries() -> dict[str, Expression]:
    ones = (Function.SQRT, Function.EXP, Function.LN, Function.LOG10, Function.LOG2, Function.LOG1P)
    subjects: dict[str, Expression] = {function.value: _call(function, X, type_=DOUBLE) for function in ones}
    subjects["log to base 10"] = _call(Function.LOG, literal(10.0, DOUBLE), X, type_=DOUBLE)
    subjects["log to base 1"] = _call(Function.LOG, literal(1.0, DOUBLE), X, type_=DOUBLE)
    for exponent in (2.0, 3.0, 0.5, 0.0, -1.0):
        subjects[f"power {exponent}"] = _call(Function.POWER, X, literal(exponent, DOUBLE), type_=DOUBLE)
    subjects["power of 2"] = _call(Function.POWER, literal(2.0, DOUBLE), X, type_=DOUBLE)
    return subjects


def _extremes() -> dict[str, Expression]:
    subjects: dict[str, Expression] = {}
    for function in (Function.GREATEST, Function.LEAST):
        subjects[f"{function.value} of integers"] = _call(function, A, B, C, type_=INTEGER)
        subjects[f"{function.value} of doubles"] = _call(function, X, Y, type_=DOUBLE)
        subjects[f"{function.value} of strings"] = _call(function, S, Column("t", STRING), type_=STRING)
        subjects[f"{function.value} of booleans"] = _call(function, P, Q, type_=BOOLEAN)
        subjects[f"{function.value} and a constant"] = _call(function, A, literal(5), type_=INTEGER)
        subjects[f"{function.value} and NULL"] = _call(function, A, literal(None, NULL), type_=INTEGER)
        subjects[f"{function.value} and NaN"] = _call(function, X, literal(NAN, DOUBLE), type_=DOUBLE)
    return subjects


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


# By the module of the rules; each expression by a name.
SUBJECTS: dict[str, dict[str, Expression]] = {
    "leaves": _leaves(),
    "comparison": _comparisons(),
    "order": _orders(),
    "boolean": _connectives(),
    "null_test": _null_tests(),
    "membership": _memberships(),
    "prefix": _prefixes(),
    "conditional": _conditionals(),
    "arithmetic": _sums(),
    "cast": _casts(),
    "magnitude": _magnitudes(),
    "rounding": _roundings(),
    "elementary": _elementaries(),
    "extremes": _extremes(),
}
