"""Measure how the code reads: openings of docstrings, names, duplicate classes, examples, sizes of folders.

    python tools/voice.py [--list] [--check] [FOLDER ...]

`--list` names each place; `--check` exits with status 1 where a bar is missed. The bars are of the whole
checkout: docstrings that open with a question word and functions that are named by a participle, at most 2 in
100 each; the listed local names, at most 5 of 1,000 bindings in public packages; class names that are used
three times or more, none but the standard nouns of `STANDARD_CLASSES`, and none twice within a package;
public functions without an example, none; modules of one folder, at most 32.
"""

import argparse
import ast
import importlib
import inspect
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHIPPED = ("pruning", "dynamic_tables", "oracles", "sim", "strategies", "skipproof")
FOLDERS = (*SHIPPED, "mutants", "tests", "bench", "tools")
PUBLIC = ("pruning", "dynamic_tables", "oracles", "oracles.isolation")
MODULES_MAX = 32

OPENINGS = frozenset({"What", "Whether", "Which", "Where", "Who", "How"})
# Names of values that say nothing of the value.
LOCAL_NAMES = frozenset(
    {
        "found",
        "one",
        "known",
        "told",
        "asked",
        "given",
        "made",
        "each",
        "due",
        "said",
        "shown",
        "drawn",
        "seen",
    }
)
# Words that end as participles do, and are nouns, adjectives or names of SQL and of libraries.
NO_PARTICIPLES = frozenset(
    {
        "bed", "bloom_seed", "embed", "exceed", "feed", "need", "proceed", "read", "reed", "seed", "speed",
        "succeed", "thread", "nested", "unsigned", "signed", "sorted", "reversed", "ordered", "distributed",
        "stored_as", "shared", "weighted", "expected", "red", "unread", "spread", "ahead", "widespread",
        "instead",
    }
)  # fmt: skip
# Participles without "ed".
PARTICIPLES = frozenset(
    {
        "born", "bound", "broken", "built", "chosen", "cut", "done", "drawn", "found", "given", "gone",
        "grown", "held", "hidden", "kept", "known", "laid", "left", "lost", "made", "meant", "met", "put",
        "run", "said", "seen", "sent", "set", "shown", "split", "spoken", "stood", "sunk", "swept", "taken",
        "taught", "thought", "told", "torn", "understood", "withdrawn", "woken", "written", "grouped",
        "spelt", "dealt", "ran", "rebuilt", "rewritten", "overwritten", "unmade", "rerun", "heard", "begun",
        "undone", "bent", "spent",
    }
) - {"bound", "cut", "put", "run", "set", "split"}  # fmt: skip
# Standard nouns of the field that several packages may use for their own class.
STANDARD_CLASSES = frozenset(
    {
        "Aggregate", "And", "Arithmetic", "Binary", "Call", "Case", "Cast", "Clock", "Coalesce", "Column",
        "Compare", "Comparison", "Engine", "Event", "Expression", "Field", "Filter", "Function", "Group",
        "Header", "History", "In", "IsNull", "Join", "Kind", "Like", "Limit", "Literal", "Node", "Not",
        "Operator", "Or", "Order", "Plan", "Project", "Query", "Range", "Relation", "Report", "Row", "Run",
        "Scan", "Schema", "Scope", "Sort", "Statement", "Step", "Table", "Task", "Transaction", "Type",
        "Union",
        "Value", "Version", "Window", "World",
    }
)  # fmt: skip


@dataclass(slots=True)
class Measures:
    """The counts; each list names places as `file:line name`."""

    docstrings: int = 0
    functions: int = 0
    bindings: int = 0
    openings: list[str] = field(default_factory=list)
    participles: list[str] = field(default_factory=list)
    local_names: list[str] = field(default_factory=list)
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def is_participle(name: str) -> bool:
    """Tell whether a function is named by one bare participle."""
    word = name.strip("_")
    if "_" in word or not word.islower() or word in NO_PARTICIPLES:
        return False
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 3)


def measure(file: Path, measures: Measures, *, counts_locals: bool) -> None:
    """Add what one file holds."""
    place = file.relative_to(ROOT)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            line = getattr(node, "lineno", 1)
            name = getattr(node, "name", "module")
            if text:
                measures.docstrings += 1
                if text.split(maxsplit=1)[0].rstrip(":,.") in OPENINGS:
                    measures.openings.append(f"{place}:{line} {name}: {text.splitlines()[0][:80]}")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            measures.functions += 1
            if is_participle(node.name):
                measures.participles.append(f"{place}:{node.lineno} {node.name}")
        if isinstance(node, ast.ClassDef):
            measures.classes[node.name].append(f"{place}:{node.lineno}")
        if counts_locals:
            for name, line in bindings(node):
                measures.bindings += 1
                if name in LOCAL_NAMES:
                    measures.local_names.append(f"{place}:{line} {name}")


def bindings(node: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names that a node binds: variables, arguments, captures of patterns, and their lines."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.lineno
    elif isinstance(node, ast.arg):
        yield node.arg, node.lineno
    elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name, node.lineno


def public_functions() -> Iterator[tuple[str, object]]:
    """Yield each function and class that a public package lists in `__all__`, with its name."""
    for package in PUBLIC:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isroutine(value):
                yield f"{package}.{name}", value


def without_example() -> list[str]:
    """Return the public functions whose docstring has no example."""
    return [name for name, value in public_functions() if ">>> " not in (inspect.getdoc(value) or "")]


def repeated_classes(classes: dict[str, list[str]]) -> list[str]:
    """Return a line for each class name that is used three times or more, or twice in one package."""
    lines = []
    for name, places in sorted(classes.items()):
        packages = Counter(place.split("/")[0] for place in places if place.split("/")[0] in SHIPPED)
        if name not in STANDARD_CLASSES and sum(packages.values()) >= 3:
            lines.append(f"{name}: {', '.join(places)}")
        elif any(count > 1 for count in packages.values()) and not name.startswith("_"):
            lines.append(f"{name} twice in a package: {', '.join(places)}")
    return lines


def large_folders(files: list[Path]) -> list[str]:
    """Return a line for each folder of more than `MODULES_MAX` modules."""
    counts = Counter(file.parent.relative_to(ROOT) for file in files if file.name != "__init__.py")
    return [f"{folder}: {count} modules" for folder, count in sorted(counts.items()) if count > MODULES_MAX]


def main() -> int:
    """Print the measures; return 1 where `--check` finds one beyond its bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="*", help="only these (all, by default)")
    parser.add_argument("--list", action="store_true", help="name each place")
    parser.add_argument("--check", action="store_true", help="exit with status 1 beyond a bar")
    arguments = parser.parse_args()
    folders = [ROOT / name for name in arguments.folders or FOLDERS]
    files = sorted(file for folder in folders for file in folder.rglob("*.py"))
    measures = Measures()
    for file in files:
        shipped = file.relative_to(ROOT).parts[0] in SHIPPED
        measure(file, measures, counts_locals=shipped)
    classes = repeated_classes(measures.classes)
    sys.path.insert(0, str(ROOT))
    missing = [] if arguments.folders else without_example()
    rows = [
        ("docstrings that open with a question word", measures.openings, measures.docstrings, 2.0, "%"),
        ("functions named by a participle", measures.participles, measures.functions, 2.0, "%"),
        ("local names that say nothing", measures.local_names, measures.bindings, 5.0, "of 1,000"),
        ("class names repeated", classes, 0, 0, ""),
        ("public functions without an example", missing, 0, 0, ""),
        ("folders that are too large", large_folders(files), 0, 0, ""),
    ]
    missed = False
    for title, places, total, bar, unit in rows:
        share = len(places) * (100 if unit == "%" else 1_000) / total if total else float(len(places))
        missed |= share > bar
        print(f"{title:45} {len(places):6,} {f'of {total:,}' if total else '':12} {share:6.1f} {unit}")
        if arguments.list:
            print(*(f"    {place}" for place in places), sep="\n")
    return int(arguments.check and missed)


if __name__ == "__main__":
    sys.exit(main())
