"""The functions that a `Call` may call, with Spark's meaning."""

import enum


class Function(enum.Enum):
    """Functions; the value is the name in Spark SQL, where there is one.

    Numbers: GREATEST and LEAST take any number of operands, NULL only where all of them are, NaN
    above all. ROUND and BROUND (half up, half to even), and FLOOR and CEIL of decimals, may take a
    literal number of digits after the point, negative ones too. LN and the other logarithms are NULL
    where their operand is not positive (LOG1P: not above -1).

    Arrays: ELEMENT_AT takes an `Element` and an int, which counts elements from 1, or back from the end; NULL
    where there is none. ARRAY_MAX and ARRAY_MIN take an `Element`: NULL is no candidate, NaN the greatest.
    For these, the `Element` stands for all elements of the array, or their fields.

    Maps: MAP_VALUE takes an `Element` of values, one of keys, and a key of their type: it is the value of the
    first such key of the row's map, or the value's field; NULL where there is none.

    Text: SUBSTRING takes a text and two `Literal` ints, the position (1 is the first character,
    negative ones count from the end) and the length. TRIM, LTRIM and RTRIM take a text, and may take
    a `Literal` text of the characters to remove instead of spaces. LENGTH counts characters. CONCAT
    takes any number of texts, NULL where any is. RPAD takes a text, a `Literal` length and a `Literal`
    pad, LPAD likewise. REPLACE takes a text and two `Literal` texts, the part and its replacement.
    SUBSTRING_INDEX takes a text, a `Literal` separator and a positive `Literal` int; where the text is not
    UTF-8, its faults may become U+FFFD. INSTR takes a text and a `Literal` part; it counts characters from 1,
    and is 0 where the part does not occur.

    Time: DATE_TRUNC takes a `Literal` unit and a timestamp, TRUNC a date and a `Literal` unit; the unit
    is an upper-case name of Spark's, and a unit that Spark does not know gives NULL. YEAR to
    WEEKOFYEAR take a date; HOUR, MINUTE and SECOND a timestamp or a timestamp_ntz. DATE_ADD and
    DATE_SUB take a date and an int, ADD_MONTHS likewise (the day is cut to the month's last).
    DATEDIFF is end minus start in days. UNIX_TIMESTAMP takes a timestamp, to whole seconds (bigint)
    rounded down, which is what SQL calls unix_seconds. DATE_FORMAT takes a timestamp and a `Literal` pattern.
    PLUS_INTERVAL takes a timestamp or a timestamp_ntz, and `Literal` numbers of months (int), days (int) and
    microseconds (bigint), which are added in this order; months and days are added to the local time.
    TIMESTAMPDIFF takes a `Literal` unit, a start and an end, and counts whole units of local time (bigint),
    rounded toward zero. MONTHS_BETWEEN takes an end, a start and a `Literal` boolean, and counts months with
    fractions of 31 days (double), rounded to 8 digits if the boolean is TRUE. FROM_UTC and TO_UTC take a
    timestamp and a `Literal` zone, by its name in Java.
    """

    NEGATE = "negative"
    ABS = "abs"
    SIGN = "sign"
    FLOOR = "floor"
    CEIL = "ceil"
    ROUND = "round"
    BROUND = "bround"
    SQRT = "sqrt"
    EXP = "exp"
    LN = "ln"
    LOG10 = "log10"
    LOG2 = "log2"
    LOG1P = "log1p"
    LOG = "log"  # of a base and a number
    POWER = "power"
    GREATEST = "greatest"
    LEAST = "least"

    ELEMENT_AT = "try_element_at"
    ARRAY_MAX = "array_max"
    ARRAY_MIN = "array_min"
    MAP_VALUE = "map_value"

    UPPER = "upper"
    LOWER = "lower"
    TRIM = "trim"
    LTRIM = "ltrim"
    RTRIM = "rtrim"
    SUBSTRING = "substring"
    CONCAT = "concat"
    LENGTH = "length"
    RPAD = "rpad"
    LPAD = "lpad"
    REPLACE = "replace"
    SUBSTRING_INDEX = "substring_index"
    INSTR = "instr"

    DATE_TRUNC = "date_trunc"
    TRUNC = "trunc"
    YEAR = "year"
    QUARTER = "quarter"
    MONTH = "month"
    DAY = "day"
    DAYOFWEEK = "dayofweek"  # 1 is Sunday
    WEEKDAY = "weekday"  # 0 is Monday
    DAYOFYEAR = "dayofyear"
    WEEKOFYEAR = "weekofyear"  # ISO 8601
    LAST_DAY = "last_day"
    HOUR = "hour"
    MINUTE = "minute"
    SECOND = "second"
    DATE_ADD = "date_add"
    DATE_SUB = "date_sub"
    ADD_MONTHS = "add_months"
    DATEDIFF = "datediff"
    UNIX_TIMESTAMP = "unix_timestamp"
    DATE_FORMAT = "date_format"
    PLUS_INTERVAL = "plus_interval"
    TIMESTAMPDIFF = "timestampdiff"
    MONTHS_BETWEEN = "months_between"
    FROM_UTC = "from_utc_timestamp"
    TO_UTC = "to_utc_timestamp"
