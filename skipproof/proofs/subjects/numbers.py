"""The expressions whose proofs are those of the rules of numbers."""

from decimal import Decimal

from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Cast,
    Column,
    Expression,
    Function,
    Like,
    Literal,
    Mode,
    Operator,
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
    decimal,
)
from skipproof.proofs.subjects.parts import NAN, A, B, C, D, E, P, Q, S, X, Y, equal, literal

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
                f"{name}, {mode.name}": Arithmetic(operator, left, right, type_, mode)
                for name, (left, right, type_) in _operands_of(operator).items()
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
    subjects: dict[str, Expression] = {
        f"{source} to {target}, {mode.name}": Cast(Column("a", source), target, mode)
        for source, target in pairs
        for mode in Mode
    }
    return subjects | {
        "bigint as text =": equal(Cast(Column("k", LONG), STRING), Literal(b"-42", STRING)),
        "int as text LIKE": Like(Cast(A, STRING), b"12%"),
        "int as text": Cast(A, STRING),
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


SUBJECTS: dict[str, dict[str, Expression]] = {
    "arithmetic": _sums(),
    "cast": _casts(),
    "magnitude": _magnitudes(),
    "rounding": _roundings(),
    "elementary": _elementaries(),
    "extremes": _extremes(),
}
