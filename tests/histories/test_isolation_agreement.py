"""The fast checker and the brute-force one find the same in drawn histories."""

from budget import examples
from hypothesis import event, given

from oracles import isolation
from oracles.isolation_brute_force import judge
from strategies.histories.histories import History, Version
from strategies.histories.histories_drawn import histories


def assert_agreement(history: History, *, literal: bool) -> None:
    judged, checked = judge(history, literal=literal), isolation.check(history, literal=literal)
    assert (checked.problem, checked.unknown) == (None, ())
    assert set(checked.phenomena) == judged.phenomena
    assert set(checked.strongest) == judged.strongest
    assert checked.edges() == {str(edge) for edge in judged.edges}
    for name in judged.phenomena:
        event(name)


@examples(5)
@given(histories(derivations=False))
def test_the_checkers_agree_on_histories_without_derivations(history: History) -> None:
    """ISO-2, half of it."""
    assert_agreement(history, literal=False)


@examples(5)
@given(histories(derivations=True))
def test_the_checkers_agree_on_histories_with_derivations(history: History) -> None:
    """ISO-2, the other half."""
    assert_agreement(history, literal=False)
    assert_agreement(history, literal=True)


def test_the_checkers_agree_on_a_history_in_which_nothing_happens() -> None:
    orders = {"x": (Version("x", "0"),), "y": ()}
    assert_agreement(History(operations=(), orders=orders), literal=False)
    assert_agreement(History(operations=(), orders={}), literal=False)
