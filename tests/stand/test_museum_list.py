"""The museum's releases are named well, and a finding is in their area only if it has its traits."""

import importlib
from pathlib import Path
from typing import ClassVar

import pytest

from skipproof.stand.hunt.examining import ask_each
from skipproof.stand.workers import engines
from skipproof.stand.workers.workers import TimedOut
from strategies.engines.engine_questions import World
from strategies.engines.questions import Question, Relation

PATH = Path(__file__).parents[2] / "bench" / "museum.py"


@pytest.fixture(scope="module")
def museum():
    """The programs of `bench` import each other by their names alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(PATH.parent)
        yield importlib.import_module(PATH.stem)


def test_each_release_is_pinned_and_of_an_engine_that_can_be_asked(museum):
    assert len({one.name for one in museum.RELEASES}) == len(museum.RELEASES) == 14
    for release in museum.RELEASES:
        assert release.engine in engines.engine_names()
        package, _, version = release.name.rpartition("-")
        assert package == release.package
        assert museum.CURRENT[package][0].partition("[")[0] == package
        assert release.pins[0].endswith(f"=={version}")
        assert release.area
        assert release.traits


def test_a_finding_is_in_an_area_if_it_has_a_trait_of_each(museum):
    traits = (("left join", "full join"), ("LIMIT",))
    assert museum.in_area(frozenset({"join: rows lost", "full join", "LIMIT"}), traits)
    assert not museum.in_area(frozenset({"join: rows lost", "full join"}), traits)
    assert museum.in_area(frozenset({"topk: rows lost"}), (("topk",),))
    assert not museum.in_area(frozenset({"topk: an error instead of rows"}), (("topk",),))


def test_a_release_that_hangs_is_not_asked_the_rest():
    """The questions are asked together, then alone as far as the one that hangs; the others are refused."""

    class Hanging:
        asked: ClassVar[list[int]] = []

        def ask(self, *, questions, **_):
            self.asked.append(len(questions))
            if len(questions) > 1 or questions[0]["limit"] == 2:
                raise TimedOut("no reply within 5 s")
            return {"answers": [{"rows": []}]}

    world = World(tables={}, settings={}, questions=())
    source = Relation(table="t")
    questions = [
        Question(area="limit", source=source, select=("rid",), limit=limit) for limit in (1, 2, 3, 4)
    ]
    answers = ask_each(Hanging(), {}, world, questions)
    assert [answer.get("kind", "answered") for answer in answers] == [
        "answered",
        "failed",
        "unsupported",
        "unsupported",
    ]
    assert Hanging.asked == [4, 1, 1]
