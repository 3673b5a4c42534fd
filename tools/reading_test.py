"""Draw a sample of functions and comments for a reading test.

    python tools/reading_test.py --seed 23 > sample.md

A reader who has not seen the code says of each what it does, from its name, signature and docstring alone, or
from the comment and the first line that it stands over. Someone else then compares the answers with the code.
`tools/reading_test.md` has the last test.
"""

import argparse
import ast
import random
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("pruning", "oracles", "strategies", "sim", "dynamic_tables", "skipproof")
FUNCTIONS, COMMENTS = 60, 40
# Comments for programs, not for readers.
MARKERS = ("# noqa", "# type:", "# fmt:", "# pragma")


@dataclass(frozen=True, slots=True)
class Passage:
    """Something to be read.

    Attributes:
        place: Its file and line.
        text: What the reader is shown.
    """

    place: str
    text: str


def files() -> Iterator[Path]:
    """Yield the modules of the shipped packages, in order."""
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def functions(file: Path) -> Iterator[Passage]:
    """Yield the functions and methods of a module that have a docstring, without their bodies."""
    text = file.read_text(encoding="utf-8")
    for scope in ast.walk(ast.parse(text)):
        if not isinstance(scope, ast.Module | ast.ClassDef):
            continue
        for node in scope.body:
            docstring = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            if isinstance(node, ast.FunctionDef) and docstring and not node.name.startswith("__"):
                line = f"{file.relative_to(ROOT)}:{node.lineno}"
                node.body = [ast.Expr(ast.Constant("..."))]
                node.decorator_list = []
                owner = f"in class {scope.name}: " if isinstance(scope, ast.ClassDef) else ""
                signature = ast.unparse(node).splitlines()[0]
                yield Passage(line, f"{owner}`{signature}`\n\n    " + "\n    ".join(docstring.splitlines()))


def comments(file: Path) -> Iterator[Passage]:
    """Yield the comments of a module that stand on lines of their own, each with the line below."""
    lines = file.read_text(encoding="utf-8").splitlines()
    with tokenize.open(file) as opened:
        starts = {
            token.start[0]
            for token in tokenize.generate_tokens(opened.readline)
            if token.type == tokenize.COMMENT and lines[token.start[0] - 1].lstrip().startswith("#")
        }
    for start in sorted(starts):
        if start - 1 in starts or lines[start - 1].lstrip().startswith(MARKERS):
            continue
        end = start
        while end in starts:
            end += 1
        shown = "\n".join(f"    {line.strip()}" for line in lines[start - 1 : end])
        yield Passage(f"{file.relative_to(ROOT)}:{start}", shown)


def main() -> None:
    """Print the sample as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, required=True)
    chance = random.Random(parser.parse_args().seed)
    drawn = chance.sample([passage for file in files() for passage in functions(file)], FUNCTIONS)
    drawn += chance.sample([passage for file in files() for passage in comments(file)], COMMENTS)
    for number, passage in enumerate(drawn, start=1):
        print(f"## {number}. {passage.place}\n\n{passage.text}\n")


if __name__ == "__main__":
    main()
