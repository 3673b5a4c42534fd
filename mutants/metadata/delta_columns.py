"""Readings of the columns of tables of Delta Lake that are wrong in one way each."""

from collections.abc import Mapping, Sequence
from typing import Any

from mutants.replacements import Replacement
from pruning.expressions.types import Type
from pruning.metadata.delta import columns, field_ids, opening, partition_values

_type, _array = columns._type, partition_values._array


def _structs_alone(type_: Any, *, is_mapped: bool) -> Any:
    is_struct = isinstance(type_, dict) and type_["type"] == "struct"
    return _type(type_, is_mapped=is_mapped) if is_struct else type_


def _pass_over(files: Sequence[str], ids: Mapping[tuple[str, ...], int]) -> None:
    return None


def _in_its_case(path: tuple[str, ...]) -> tuple[str, ...]:
    return path


def _empty_is_a_text(values: list[object], type_: Type) -> Any:
    return _array(["" if value is None else value for value in values], type_)


MUTANTS: Mapping[str, Replacement] = {
    "names in arrays are not mapped": Replacement(columns, "_type", _structs_alone),
    "ids are not looked at": Replacement(opening, "check_names", _pass_over),
    "names differ in their case": Replacement(field_ids, "_lower_case", _in_its_case),
    "an empty partition value is a text": Replacement(partition_values, "_array", _empty_is_a_text),
}
