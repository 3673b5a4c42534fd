"""Searches that show that a strategy can draw something, and what they found before.

A search may take thousands of draws, and what it shows is one of them. `remembered_searches.txt` has, for
each long search, the choices that led to what it found; a test makes these choices anew, by the strategies of
today, and checks what comes of them. Only if that is no longer what is wanted, it searches. The same holds of
searches for a seed under which a mutant is caught.

`make searches` searches for everything and writes the file; a deep run leaves the file aside.
"""

import base64
import functools
import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import hypothesis
from budget import unshrunk
from hypothesis import Phase
from hypothesis import settings as Settings
from hypothesis.database import ExampleDatabase
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy

ANEW = "SKIPPROOF_SEARCH_ANEW"
WRITTEN = "SKIPPROOF_WRITE_SEARCHES"
FILE = Path(__file__).with_name("remembered_searches.txt")
# Shorter searches are not worth a line. It is low because a search that is written draws at random: what it
# found soon by luck may take the search of a default run thousands of draws.
DRAWS_MIN = 5

SHORT = unshrunk(2_000)

T = TypeVar("T")
_searches_of_test: Counter[str] = Counter()


def find(strategy: SearchStrategy[T], condition: Callable[[T], bool], *, settings: Settings = SHORT) -> T:
    """Return a value that the strategy draws and that satisfies the condition; it is not shrunk.

    Raises:
        NoSuchExample: none was found within the settings' number of examples.
    """
    key = _key()
    remembered = None if os.environ.get(ANEW) else _remembered().get(key)
    if remembered is not None:
        try:
            return _replay(strategy, condition, settings, remembered)
        except NoSuchExample:
            pass
    written = os.environ.get(WRITTEN)
    if written:
        return _search_and_write(strategy, condition, settings, key, Path(written))
    return hypothesis.find(strategy, condition, settings=settings)


def find_seed(seed_count: int, condition: Callable[[int], bool]) -> int | None:
    """Return a seed, of those from 0 on, for which the condition holds; None if there is none.

    The remembered seed is tried before the others.
    """
    key = _key()
    remembered = None if os.environ.get(ANEW) else _remembered().get(key)
    if remembered is not None and (seed := int(remembered)) < seed_count and condition(seed):
        return seed
    seed = next((seed for seed in range(seed_count) if condition(seed)), None)
    written = os.environ.get(WRITTEN)
    # Seed 0 is tried first anyway.
    if written and seed:
        _write(Path(written), key, str(seed).encode())
    return seed


class OneExample(ExampleDatabase):
    """The choices of one example, whatever they are stored for."""

    def __init__(self, choices: bytes | None = None) -> None:
        super().__init__()
        self.choices = choices

    def fetch(self, key: bytes) -> Iterable[bytes]:
        """Return the example, if there is one."""
        return () if self.choices is None else (self.choices,)

    def save(self, key: bytes, value: bytes) -> None:
        """Keep the first example."""
        self.choices = value if self.choices is None else self.choices

    def delete(self, key: bytes, value: bytes) -> None:
        """Keep an example that is no longer wanted: the next run of `make searches` drops it."""


def _replay(
    strategy: SearchStrategy[T], condition: Callable[[T], bool], given: Settings, choices: bytes
) -> T:
    only_this = Settings(given, derandomize=False, database=OneExample(choices), phases=[Phase.reuse])
    return hypothesis.find(strategy, condition, settings=only_this, database_key=b"search")


def _search_and_write(
    strategy: SearchStrategy[T], condition: Callable[[T], bool], given: Settings, key: str, written: Path
) -> T:
    """Search, and append a line if the search is long."""
    draws = 0

    def counted(value: T) -> bool:
        nonlocal draws
        draws += 1
        return condition(value)

    kept = OneExample()
    recorded = Settings(given, derandomize=False, database=kept)
    value = hypothesis.find(strategy, counted, settings=recorded, database_key=b"search")
    if draws >= DRAWS_MIN and kept.choices is not None:
        _write(written, key, kept.choices)
    return value


def _write(written: Path, key: str, choices: bytes) -> None:
    """Append a line, in one write, so that workers may share the file."""
    with written.open("a", encoding="utf-8") as file:
        file.write(f"{key}\t{base64.b64encode(choices).decode()}\n")


def _key() -> str:
    """Return the name of the running test and the number of its searches before this one."""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0]
    _searches_of_test[test] += 1
    return f"{_searches_of_test[test]} {test.encode('unicode_escape').decode()}"


@functools.cache
def _remembered() -> dict[str, bytes]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {key: base64.b64decode(choices) for key, _, choices in (line.partition("\t") for line in lines)}
