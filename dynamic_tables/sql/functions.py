"""The parser's nodes for functions and operators, and the arguments that it gives them."""

from collections.abc import Mapping

from sqlglot import exp

VOLATILE = (
    exp.CurrentTimestamp,
    exp.CurrentDate,
    exp.CurrentTime,
    exp.CurrentUser,
    exp.Localtimestamp,
    exp.Rand,
    exp.Randn,
    exp.Uuid,
)
VOLATILE_NAMES = frozenset(
    {"random", "randstr", "uniform", "normal", "seq1", "seq2", "seq4", "seq8", "sysdate"}
)
# The flags that the parser sets on functions in this dialect; other arguments are refused.
DIALECT = frozenset(
    {
        *("this", "casts_non_integer_decimals", "binary", "null_returns_null", "zero_start", "requires_json"),
        *("empty_delimiter_returns_whole", "negative_length_returns_empty", "requires_string"),
        *("null_on_text_overflow", "safe"),
    }
)
LISTS = frozenset({"this", "expressions", "is_nvl", "is_null", "safe", "bracket_notation"})

BINARY: Mapping[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.And: "and",
    exp.Or: "or",
    exp.NullSafeEQ: "is_not_distinct",
    exp.Like: "like",
    exp.StartsWith: "startswith",
    exp.EndsWith: "endswith",
    exp.Contains: "contains",
    exp.Left: "left",
    exp.Right: "right",
    exp.DPipe: "concat",
    exp.Split: "split",
    exp.GetExtract: "get",
}
UNARY: Mapping[type[exp.Expression], str] = {
    exp.Not: "not",
    exp.Neg: "negate",
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Sign: "sign",
    exp.Upper: "upper",
    exp.Lower: "lower",
    exp.Length: "length",
    exp.ArraySize: "array_size",
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
    exp.DayOfMonth: "day",
    exp.Quarter: "quarter",
    exp.Week: "week",
    exp.WeekOfYear: "week",
    exp.DayOfWeek: "dayofweek",
    exp.DayOfWeekIso: "dayofweekiso",
    exp.DayOfYear: "dayofyear",
    exp.YearOfWeek: "yearofweek",
    exp.YearOfWeekIso: "yearofweek",
    exp.IsNan: "is_nan",
}
