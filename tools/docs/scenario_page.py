"""Write the reference page of scenario keys, from the models that read scenario files; `mkdocs` runs this."""

import enum
import inspect
import re
import types
import typing
from collections.abc import Iterator

import mkdocs_gen_files
import msgspec

from sim.refreshes.scenario import RefreshScenario
from sim.scans.scenario import Scenario

PAGE = "reference/scenario-keys.md"
START = """# Scenario keys

A scenario is a TOML file that `skipproof simulate` runs: [a guide](../how-to/design-a-warehouse.md) has one.
Its keys are listed here with their types and defaults, as the program reads them. A key that is not listed is
an error. Names end in their units: `_us` is microseconds.
"""
SECTIONS = (("Scans", Scenario), ("Dynamic tables", RefreshScenario))


def structs_in(kind: object) -> Iterator[type[msgspec.Struct]]:
    """Yield the models within a type, in its order."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in typing.get_args(kind):
        yield from structs_in(part)


def models_of(root: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return a model and all models below it, each once, in the order in which they are met."""
    models, waiting = [], [root]
    while waiting:
        model = waiting.pop(0)
        if model not in models:
            models.append(model)
            waiting += [below for field in msgspec.structs.fields(model) for below in structs_in(field.type)]
    return models


def type_text(kind: object) -> str:
    """Return a type in a reader's words."""
    arguments = typing.get_args(kind)
    origin = typing.get_origin(kind)
    if origin is typing.Annotated:
        limits = [meta for meta in arguments[1:] if isinstance(meta, msgspec.Meta)]
        return type_text(arguments[0]) + "".join(map(_limits_text, limits))
    if origin is typing.Literal:
        return " or ".join(f'`"{value}"`' for value in arguments)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return " or ".join(f'`"{member.value}"`' for member in kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"[{kind.__name__}](#{anchor(kind)})"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(type_text(part) for part in arguments if part is not type(None))
    if origin is tuple:
        return f"list of {type_text(arguments[0])}"
    if origin is not None and len(arguments) == 2:
        return f"table of {type_text(arguments[1])}"
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    return names.get(typing.cast(type, kind), str(kind).replace("|", "or"))


def _limits_text(meta: msgspec.Meta) -> str:
    low = meta.ge if meta.ge is not None else None if meta.gt is None else f"more than {meta.gt}"
    high = meta.le if meta.le is not None else None if meta.lt is None else f"less than {meta.lt}"
    bounds = [
        text
        for text in (None if low is None else f"from {low}", None if high is None else f"to {high}")
        if text
    ]
    return f" {' '.join(bounds)}".replace("from more", "more").replace("to less", "less") if bounds else ""


def anchor(model: type[msgspec.Struct]) -> str:
    """Return the id of a model's heading."""
    return f"{model.__module__}-{model.__name__}".lower().replace(".", "-")


def default_text(field: msgspec.structs.FieldInfo) -> str:
    """Return a field's default as TOML has it, or that it must be given."""
    if field.required:
        return "required"
    if field.default is msgspec.NODEFAULT:
        return "empty"
    value = msgspec.to_builtins(field.default)
    if value is None:
        return "none"
    if isinstance(value, dict):
        return "its defaults"
    if isinstance(value, list | tuple):
        return "none" if not value else "one, by its defaults"
    return f"`{msgspec.json.encode(value).decode()}`"


def descriptions(model: type[msgspec.Struct]) -> dict[str, str]:
    """Return what the docstring of a model says of each attribute; one entry may name several."""
    _, _, section = (inspect.getdoc(model) or "").partition("\nAttributes:\n")
    entries = re.findall(r"^    ([\w, ]+): (.*(?:\n {8}.*)*)", section, re.MULTILINE)
    return {name: " ".join(text.split()) for names, text in entries for name in names.split(", ")}


def model_text(model: type[msgspec.Struct]) -> str:
    """Return the section of a model: what it is, and a row for each key."""
    config = model.__struct_config__
    kind = f' (`{config.tag_field} = "{config.tag}"`)' if config.tag else ""
    told = {
        name: text
        for parent in reversed(model.__mro__)
        if issubclass(parent, msgspec.Struct) and parent is not msgspec.Struct
        for name, text in descriptions(parent).items()
    }
    summary = (inspect.getdoc(model) or "").partition("\n\nAttributes:")[0]
    rows = [_row(field, told.get(field.name, "")) for field in msgspec.structs.fields(model)]
    table = ["| key | type | default | meaning |", "| --- | --- | --- | --- |", *rows] if rows else []
    return "\n".join([f"### {model.__name__}{kind} {{ #{anchor(model)} }}", "", summary, "", *table, ""])


def _row(field: msgspec.structs.FieldInfo, meaning: str) -> str:
    kind, default = type_text(field.type), default_text(field)
    return f"| `{field.encode_name}` | {kind} | {default} | {meaning} |"


def main() -> None:
    """Write the page: the two kinds of scenarios, each with the models below it."""
    with mkdocs_gen_files.open(PAGE, "w") as page:
        page.write(START)
        written: set[type[msgspec.Struct]] = set()
        for title, root in SECTIONS:
            page.write(f"\n## {title}\n\n")
            for model in models_of(root):
                if model not in written:
                    page.write(model_text(model) + "\n")
                written.add(model)


main()
