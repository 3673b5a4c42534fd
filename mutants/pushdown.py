"""Pushdown to Spark's reader of Parquet that loses rows by one mistake each."""

from mutants.replacements import Replacement
from pruning.spark.drive import pushdown
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import elements

_is_harmless = pushdown._is_harmless


def mutant(name: str) -> Replacement:
    """Return the test of a comparison with the mistakes that the name lists."""
    if name == "all days are":
        return Replacement(pushdown, "is_exact", lambda value, type_: True)

    def is_harmless(atom: pushdown._Comparison) -> bool:
        operand, *others = elements(atom.java.children())
        type_ = type_of_java(operand)
        constants = pushdown._constants(atom, others, type_)
        if name == "all is constant":
            return constants is None or _is_harmless(atom)
        if name == "NOT changes nothing":
            return _is_harmless(pushdown._Comparison(atom.java, atom.name, negated=False))
        if name == "nothing is rounded":
            return not type_.floating or _is_harmless(atom)
        if constants is None or not type_.floating or atom.negated:
            return _is_harmless(atom)
        bounded = atom.name in pushdown._NEVER_NAN or "NaN is bounded" in name
        numbers = name == "NaN is a number" or all(constant == constant for constant in constants)
        return bounded and numbers and (0.0 not in constants or "zeros are one" in name)

    return Replacement(pushdown, "_is_harmless", is_harmless)
