"""Fields of Arrow's structs by exact name, and that nothing else looks them up by Arrow's paths."""

import ast
from pathlib import Path
from typing import TypeGuard

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruning.metadata.table.structs import field_of, has_field, make_struct, with_fields
from strategies.base.names import hostile_names

ROOT = Path(__file__).parents[2]
PACKAGES = ("pruning", "dynamic_tables", "oracles", "sim", "strategies", "skipproof", "bench", "tests")
ONLY = ROOT / "pruning" / "metadata" / "table" / "structs.py"


def numbered(names: tuple[str, ...], mask: list[bool] | None = None) -> pa.StructArray:
    """A struct whose every field holds its own place; NULL where the mask says so."""
    lanes = [pa.array([place, place], pa.int64()) for place in range(len(names))]
    return pa.StructArray.from_arrays(lanes, names=list(names), mask=None if mask is None else pa.array(mask))


@given(hostile_names(8, case_sensitive=True, like_fields=True), st.booleans(), st.booleans())
def test_a_field_is_found_by_its_exact_name_alone(
    names: tuple[str, ...], some_null: bool, chunked: bool
) -> None:
    """Of each name the field of that name, whatever paths to other fields it looks like."""
    struct = numbered(names, [some_null, False])
    column = pa.chunked_array([struct.slice(0, 1), struct.slice(1)]) if chunked else struct
    for place, name in enumerate(names):
        assert has_field(column, name)
        assert field_of(column, name).to_pylist() == [None if some_null else place, place]


@given(hostile_names(4), st.permutations(range(4)))
def test_a_struct_keeps_the_fields_that_are_wanted(names: tuple[str, ...], order: list[int]) -> None:
    wanted = [names[place] for place in order[:2]]
    kept = with_fields(numbered(names), wanted)
    assert [field.name for field in kept.type] == wanted
    assert [kept.field(at)[0].as_py() for at in range(2)] == order[:2]


def test_a_struct_without_fields_has_its_length() -> None:
    assert len(with_fields(numbered(("a",)), [])) == 2
    assert len(make_struct({}, 3)) == 3


@pytest.mark.parametrize("name", [".a", "[0]", "a.b", ""])
def test_a_name_that_is_not_there_is_no_path(name: str) -> None:
    struct = make_struct({"a": make_struct({"b": pa.array([1])}, 1)}, 1)
    assert not has_field(struct, name)
    with pytest.raises(KeyError):
        field_of(struct, name)


def test_no_other_module_takes_names_for_arrows_paths() -> None:
    """Arrow's `struct_field` reads a name that begins with "." or "[" as a path."""
    assert [place for package in PACKAGES for place in path_lookups(ROOT / package)] == []


def test_a_lookup_by_path_is_found(tmp_path: Path) -> None:
    lines = [
        "import pyarrow.compute as pc",
        "from pyarrow.compute import struct_field",
        "pc.struct_field(x, n)",
    ]
    (tmp_path / "planted.py").write_text("\n".join(lines), encoding="utf-8")
    assert [place.rpartition(":")[2] for place in path_lookups(tmp_path)] == ["2", "3"]


def path_lookups(folder: Path) -> list[str]:
    """The lines of the sources below a folder that look for fields by Arrow's paths."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py")) if file != ONLY}
    return [
        f"{file}:{line}"
        for file, text in texts.items()
        # Most files need not be parsed.
        if "struct_field" in text
        for line in sorted(node.lineno for node in ast.walk(ast.parse(text)) if _is_lookup(node))
    ]


def _is_lookup(node: ast.AST) -> TypeGuard[ast.Attribute | ast.ImportFrom]:
    match node:
        case ast.Attribute(attr="struct_field"):
            return True
        case ast.ImportFrom(names=names):
            return any(alias.name == "struct_field" for alias in names)
    return False
