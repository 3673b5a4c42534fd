"""Java objects some of whose methods were asked together, so that most of a plan is read in two calls.

To read a plan takes hundreds of calls into Java, each a few hundredths of a millisecond and more. The class
`PlanAnswers` gives the answers that are needed of most plans in one text. Others are asked for one by one.
"""

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.spark.jvm.compiling import optional_instance
from pruning.spark.jvm.gateway import Java, decode_answer

# The class on Java's side, and the package of its source.
ANSWERS, ANSWERS_PACKAGE = "PlanAnswers", "pruning.spark.jvm"
_NUMBER, _CHILD, _ARGUMENT = "#", "=", "|"
_COMPRESSED = "Z"


def with_answers(spark: SparkSession, plan: Java, option: str, *, expressions: bool = True) -> Java:
    """Return a logical plan whose nodes need not be asked for much; the plan itself where Java cannot tell.

    Args:
        spark: The session.
        plan: A resolved plan.
        option: The option of relations whose value is fetched with the rest.
        expressions: True if the nodes' expressions and attributes will be read, too.
    """
    answers = optional_instance(spark, ANSWERS, package=ANSWERS_PACKAGE)
    if answers is None:
        return plan
    reader = answers.of(option, expressions)
    try:
        text: str = reader.read(plan)
    except (Py4JError, PySparkException):
        # Java's stack is too small for the plan, or a part of it cannot be printed.
        return plan
    if text.startswith(_COMPRESSED):
        text = zlib.decompress(decode_answer(text[1:])).decode("ascii")
    return Prefetched(json.loads(text), lambda: plan, reader)


class Prefetched:
    """A Java object, and the answers of some of its methods.

    The object itself is fetched when another method is called, or when it is passed to Java.

    Claim     A method gives what the Java object's own would give.
    Premises  Nodes of plans and expressions never change; the other objects that are asked do not change
              while a query is pruned.
    Proof     (1) An answer is that of the same object, asked by the same method with the same argument.
              (2) A method without an answer is called on the object.
    """

    __slots__ = ("_answers", "_fetch", "_java", "_objects", "_reader")

    def __init__(self, answers: Mapping[str, Any], fetch: Callable[[], Java], reader: Java) -> None:
        """Take an object's answers.

        Args:
            answers: The answers, as `PlanAnswers` writes them.
            fetch: Fetches the object, unless it is a node of the plan.
            reader: Java's side, which has the nodes.
        """
        self._answers, self._fetch, self._reader = answers, fetch, reader
        self._objects: dict[str, Any] = {}
        self._java: Java = None

    def __getattr__(self, name: str) -> Any:
        # py4j looks for the class `Java` of Python's objects; no method of a plan has such a name.
        if name.startswith("__") or name[:1].isupper():
            raise AttributeError(name)
        return lambda *arguments: self._call(name, arguments)

    def _call(self, name: str, arguments: tuple[Any, ...]) -> Any:
        key: str | None = name
        if arguments:
            is_plain = len(arguments) == 1 and isinstance(arguments[0], str | int)
            key = f"{name}{_ARGUMENT}{arguments[0]}" if is_plain else None
        if key is None or key not in self._answers:
            return getattr(self._object(), name)(*arguments)
        answer = self._answers[key]
        if not isinstance(answer, dict | list):
            return answer
        if key not in self._objects:
            self._objects[key] = self._object_of(name, arguments, answer)
        return self._objects[key]

    def _object_of(self, name: str, arguments: tuple[Any, ...], answer: Any) -> "Prefetched":
        if isinstance(answer, list):
            places = {f"apply{_ARGUMENT}{place}": item for place, item in enumerate(answer)}
            answer = {"length": len(answer), "isEmpty": not answer, **places}
        elif _CHILD in answer:
            child: Prefetched = self._call("children", ())._call("apply", (answer[_CHILD],))
            return child
        return Prefetched(answer, lambda: getattr(self._object(), name)(*arguments), self._reader)

    def _object(self) -> Java:
        if self._java is None:
            number = self._answers.get(_NUMBER)
            self._java = self._fetch() if number is None else self._reader.node(number)
        return self._java

    def _get_object_id(self) -> str:
        """Return py4j's name of the Java object, to which it is passed."""
        return str(self._object()._get_object_id())
