"""Failures of jobs of Spark that the data or the query causes, as the errors of the backend in Python."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dynamic_tables.values.errors import CastFailed, DivisionByZero, Overflow, UserError

# By what Spark calls them: errors of its own functions.
CONDITIONS: Mapping[str, type[UserError]] = {
    "NUMERIC_VALUE_OUT_OF_RANGE": Overflow,
    "ARITHMETIC_OVERFLOW": Overflow,
    "DIVIDE_BY_ZERO": DivisionByZero,
    "CAST_INVALID_INPUT": CastFailed,
    "CAST_OVERFLOW": Overflow,
}
# The last line of a traceback in a worker, and the name and sentence of Spark's own errors.
IN_PYTHON = re.compile(r"^\s*dynamic_tables\.values\.errors\.(\w+): (.*)$", re.MULTILINE)
IN_SPARK = re.compile(r"\[([A-Z_]+)(?:\.[A-Z_]+)?\] (.*)")


@contextmanager
def user_errors() -> Iterator[None]:
    """Raise errors of the data or the query, inside jobs of Spark, as the backend in Python raises them.

    Raises:
        UserError: A job failed on these rows.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        failure = user_error(str(error))
        if failure is None:
            raise
        raise failure from error


def has_ended(spark: SparkSession) -> bool:
    """Tell whether the process of a session has ended, or its context was stopped: it computes no more."""
    context = spark.sparkContext._jsc
    try:
        return context is None or bool(context.sc().isStopped())
    except (Py4JError, OSError):
        return True


def user_error(text: str) -> UserError | None:
    """Return the error of the data or the query that Spark's message tells of; None if it tells of another.

    >>> user_error("[DIVIDE_BY_ZERO] Division by zero.")
    DivisionByZero('Division by zero.')
    >>> user_error("[INTERNAL_ERROR] Something else.") is None
    True
    """
    in_python = IN_PYTHON.search(text)
    if in_python is not None:
        name, sentence = in_python.groups()
        kinds: dict[str, type[UserError]] = {kind.__name__: kind for kind in UserError.__subclasses__()}
        return kinds[name](sentence) if name in kinds else None
    for condition, sentence in IN_SPARK.findall(text):
        if condition in CONDITIONS:
            return CONDITIONS[condition](sentence)
    return None
