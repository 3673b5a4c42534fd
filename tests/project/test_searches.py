"""What a long search found is drawn again; what is no longer what is wanted is searched for."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import searches
from budget import unshrunk
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

NUMBERS = st.integers(0, 100_000)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty memory, for the searches of one test."""
    file = tmp_path / "remembered.txt"
    file.touch()
    monkeypatch.setattr(searches, "FILE", file)
    monkeypatch.setattr(searches, "_searches_of_test", searches.Counter())
    monkeypatch.delenv(searches.ANEW, raising=False)
    searches._remembered.cache_clear()
    yield file
    searches._remembered.cache_clear()


def draws_to_find(multiple_of: int) -> int:
    """Search for a multiple of a number; return how many numbers were drawn."""
    draws = 0

    def wanted(value: int) -> bool:
        nonlocal draws
        draws += 1
        return value > 1_000 and value % multiple_of == 0

    assert searches.find(NUMBERS, wanted, settings=unshrunk(100_000)) % multiple_of == 0
    return draws


def test_a_long_search_is_done_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(searches.WRITTEN, str(file))
    assert draws_to_find(997) >= searches.DRAWS_MIN
    monkeypatch.delenv(searches.WRITTEN)
    (line,) = file.read_text(encoding="utf-8").splitlines()
    assert line.startswith("1 tests/project/test_searches.py::test_a_long_search_is_done_once\t")
    searches._remembered.cache_clear()
    searches._searches_of_test.clear()
    assert draws_to_find(997) <= 2, "drawn, and once more to be sure"
    searches._searches_of_test.clear()
    assert draws_to_find(1_009) > 1, "the number is drawn again, and is not taken for another one"
    monkeypatch.setenv(searches.ANEW, "1")
    searches._searches_of_test.clear()
    assert draws_to_find(997) > 1, "a deep run leaves the memory aside"


def test_a_short_search_is_not_worth_a_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(searches.WRITTEN, str(file))
    searches.find(NUMBERS, lambda _: True)
    assert not file.read_text(encoding="utf-8")


def test_choices_that_the_strategy_no_longer_has_are_searched_for(file: Path) -> None:
    file.write_text(f"1 {searches._key()[2:]}\t{base64.b64encode(b'').decode()}\n", encoding="utf-8")
    searches._searches_of_test.clear()
    assert draws_to_find(997) > 1


def test_what_is_never_drawn_is_not_found(file: Path) -> None:
    with pytest.raises(NoSuchExample):
        searches.find(NUMBERS, lambda value: value < 0)


def seeds_tried(condition: Callable[[int], bool]) -> list[int]:
    """Search for a seed; return the seeds that were tried."""
    tried: list[int] = []

    def record(seed: int) -> bool:
        tried.append(seed)
        return condition(seed)

    searches._searches_of_test.clear()
    searches._remembered.cache_clear()
    seed = searches.find_seed(10, record)
    assert seed is None or condition(seed)
    return tried


def test_a_remembered_seed_is_tried_first(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(searches.WRITTEN, str(file))
    assert seeds_tried(lambda seed: seed >= 3) == [0, 1, 2, 3]
    monkeypatch.delenv(searches.WRITTEN)
    assert seeds_tried(lambda seed: seed >= 3) == [3]
    assert seeds_tried(lambda seed: seed == 1) == [3, 0, 1], "the remembered seed no longer shows it"
    assert seeds_tried(lambda seed: False) == [3, *range(10)]
    monkeypatch.setenv(searches.ANEW, "1")
    assert seeds_tried(lambda seed: seed >= 3) == [0, 1, 2, 3], "a deep run leaves the memory aside"
