"""TOPK-4: a boundary from metadata alone is one that enough rows are as good as."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from searches import find
from top_k_cases import (
    TopKCase,
    at_least_as_good,
    compare,
    top_k_cases,
    without_equals,
)

from pruning.expressions.types import DOUBLE, LONG, Type
from pruning.rules.sets.truths import Match
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk.boundary import Boundary
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.upfront import boundary_by_counts, boundary_by_maxima

SEARCH = unshrunk(20_000)


def maxima(case: TopKCase) -> Boundary | None:
    """The first method, of groups where the query has any."""
    return boundary_by_maxima(
        case.bounds, case.matches, case.row_counts, case.order, case.wanted, distinct=case.distinct
    )


def counts(case: TopKCase) -> Boundary | None:
    """The second method; groups are not what it counts."""
    if case.distinct:
        return None
    return boundary_by_counts(case.bounds, case.matches, case.row_counts, case.order, case.wanted)


def too_strict(case: TopKCase, method: Callable[[TopKCase], Boundary | None]) -> bool:
    """Whether fewer rows than wanted, of a group each under GROUP BY, are as good as the boundary."""
    boundary = method(case)
    if boundary is None:
        return False
    good = at_least_as_good(case.keys(range(len(case.blocks))), boundary.value, case.order)
    return len(without_equals(good, case.order) if case.distinct else good) < case.wanted


@examples(6)
@given(top_k_cases())
def test_enough_rows_are_as_good_as_a_boundary_from_metadata(case: TopKCase) -> None:
    """TOPK-4. For both methods, every order, unknown counts and widened bounds; none is held."""
    for method in (maxima, counts):
        boundary = method(case)
        event(f"{method.__name__}: {'none' if boundary is None else 'found'}")
        assert not too_strict(case, method)
        assert boundary is None or not boundary.held


def stricter_one(case: TopKCase) -> str:
    """Which method finds the better boundary."""
    by_bound, by_number = maxima(case), counts(case)
    if by_bound is None or by_number is None:
        return "only maxima" if by_number is None else "only counts" if by_bound is None else "neither"
    sign = compare(by_bound.value, by_number.value, case.order)
    return "maxima" if sign < 0 else "counts" if sign > 0 else "both"


@pytest.mark.parametrize("expected", ["maxima", "counts"])
def test_the_cases_reach_each_method_as_the_stricter_one(expected: str) -> None:
    find(top_k_cases(), lambda case: case.wanted > 1 and stricter_one(case) == expected, settings=SEARCH)


def known_as(case: TopKCase, **changes: np.ndarray) -> TopKCase:
    """The case with other bounds, as a mistaken reader would see them."""
    return replace(case, bounds=replace(case.bounds, **changes))


def lanes(case: TopKCase, value: object) -> np.ndarray:
    """One value for every block."""
    return np.full(len(case.blocks), value)


@pytest.mark.parametrize(
    ("type_", "broken"),
    [
        (
            LONG,
            lambda case: maxima(known_as(case, lower_exact=lanes(case, True), upper_exact=lanes(case, True))),
        ),
        (LONG, lambda case: maxima(replace(case, distinct=False)) if case.distinct else None),
        (LONG, lambda case: maxima(replace(case, matches=np.where(case.matches, Match.ALL, Match.NONE)))),
        (LONG, lambda case: counts(replace(case, matches=np.where(case.matches, Match.ALL, Match.NONE)))),
        (LONG, lambda case: counts(replace(case, distinct=False)) if case.distinct else None),
        (LONG, lambda case: counts(known_as(case, may_null=lanes(case, False), null_counts=lanes(case, 0)))),
        (DOUBLE, lambda case: counts(known_as(case, may_nan=lanes(case, False), nan_counts=lanes(case, 0)))),
        (
            LONG,
            lambda case: counts(
                known_as(
                    case,
                    null_counts=np.maximum(case.bounds.null_counts, 0),
                    nan_counts=np.maximum(case.bounds.nan_counts, 0),
                )
            ),
        ),
        (LONG, lambda case: counts(replace(case, row_counts=np.array([len(rows) for rows in case.blocks])))),
        (LONG, lambda case: counts(known_as(case, lower=case.bounds.upper, upper=case.bounds.lower))),
        (LONG, lambda case: maxima(replace(case, wanted=max(0, case.wanted - 1)))),
        (LONG, lambda case: counts(replace(case, wanted=max(0, case.wanted - 1)))),
    ],
    ids=[
        "widened maximum used",
        "maxima that are not distinct",
        "maxima of SOME blocks",
        "rows of SOME blocks",
        "rows counted as groups",
        "NULL counted as a value",
        "NaN counted as a value",
        "an unknown count is 0",
        "dead rows counted",
        "the best bound for the worst",
        "offset forgotten by maxima",
        "offset forgotten by counts",
    ],
)
def test_a_method_that_counts_wrongly_is_seen(
    type_: Type, broken: Callable[[TopKCase], Boundary | None]
) -> None:
    def wrong(case: TopKCase) -> bool:
        found = broken(case)
        return too_strict(case, lambda _: found)

    find(top_k_cases(types=[type_]), wrong, settings=SEARCH)


def two_blocks(*, null_counts: list[int], nan_counts: list[int]) -> KeyBounds:
    """Doubles from 1 to 5 and from 3 to 9."""
    nulls, nans = np.array(null_counts), np.array(nan_counts)
    yes = np.ones(2, bool)
    return KeyBounds(
        type=DOUBLE,
        lower=pa.array([1.0, 3.0]),
        upper=pa.array([5.0, 9.0]),
        may_null=nulls != 0,
        may_nan=nans != 0,
        may_value=yes,
        lower_exact=yes,
        upper_exact=yes,
        null_counts=nulls,
        nan_counts=nans,
    )


#  null counts, nan counts, order (descending, nulls first), wanted, by maxima, by counts      because
CASES = [
    ([0, 0], [0, 0], (True, False), 2, 5.0, 3.0),
    ([0, 0], [0, 0], (False, False), 2, 3.0, 5.0),
    ([4, 0], [0, 0], (True, True), 3, 5.0, None),  # each block's NULL counts once, or all of them do
    ([0, 0], [4, 0], (True, False), 3, 5.0, float("nan")),  # NaN is the best number
    ([-1, 0], [0, 0], (True, False), 11, None, "none"),  # any number of rows may be NULL, and those come last
    ([-1, 0], [0, 0], (True, True), 11, None, 1.0),  # and here first
    ([0, 0], [-1, 0], (False, False), 11, None, "none"),  # any number may be NaN, worse than all
    ([0, 0], [-1, 0], (True, False), 11, None, 1.0),
]


@pytest.mark.parametrize(("null_counts", "nan_counts", "order", "wanted", "first", "second"), CASES)
def test_null_and_nan_count_where_they_are_better_and_not_where_they_may_be_worse(
    null_counts: list[int],
    nan_counts: list[int],
    order: tuple[bool, bool],
    wanted: int,
    first: object,
    second: object,
) -> None:
    bounds, rows = two_blocks(null_counts=null_counts, nan_counts=nan_counts), np.array([10, 10])
    known = (bounds, np.full(2, Match.ALL, np.int8), rows, SortOrder(*order), wanted)
    found = boundary_by_counts(*known)

    assert repr("none" if found is None else found.value) == repr(second)
    if wanted <= 3:
        boundary = boundary_by_maxima(*known, distinct=False)
        assert boundary is not None
        assert boundary.value == first
    else:
        assert boundary_by_maxima(*known, distinct=False) is first


def test_equal_maxima_are_one_group() -> None:
    bounds = replace(
        two_blocks(null_counts=[0, 0], nan_counts=[0, 0]),
        lower=pa.array([-1.0, -1.0]),
        upper=pa.array([0.0, -0.0]),
    )
    known = (bounds, np.full(2, Match.ALL, np.int8), np.array([10, 10]), SortOrder(True, False), 2)

    assert boundary_by_maxima(*known, distinct=True) is None
    assert boundary_by_maxima(*known, distinct=False) == Boundary(0.0, held=False)
