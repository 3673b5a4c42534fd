"""TIME-5: what a function of time takes into a set, and nothing else, is in the set's preimage."""

from typing import Any

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from time_nodes import DAY, INCREASING, D, T, drawn, increasing, operand, text, value_of, values_of
from times import HOUR, ZONES, days, known, transitions

from pruning.expressions.trees import Call, Cast, Column, Expression, Function, type_of
from pruning.expressions.types import DATE, INTEGER, STRING, TIMESTAMP, Type
from pruning.rules.families.time_functions import time_preimage
from pruning.rules.sets import cuts
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import ValueSet
from pruning.rules.time import steps


@examples(20)
@given(st.data(), st.sampled_from(ZONES), st.sampled_from(INCREASING))
def test_the_preimage_holds_exactly_the_values_that_the_function_takes_into_the_set(
    data: st.DataObject, name: str, function: str
) -> None:
    """TIME-5. Inside; beyond, every value is in the preimage of each set but the empty one."""
    node = increasing(name)[function]
    column = operand(node)
    anchors = data.draw(st.lists(drawn(column.type, name), min_size=1, max_size=4))
    images = [value_of(node, anchor) for anchor in anchors]
    members = [image for image in images if image is not None]
    if type_of(node) != STRING:
        members = [value + data.draw(st.integers(-1, 1)) for value in members]
    limits = type_of(node).integer_range
    members = [value for value in members if limits is None or limits[0] <= value <= limits[1]]
    wanted = cuts.of_values(members, type_of(node))
    if members and data.draw(st.booleans()):
        wanted = cuts.union(wanted, cuts.above(max(members), type_of(node), inclusive=True))
    if data.draw(st.booleans()):
        wanted = cuts.complement(wanted)
    found = time_preimage(node, ValueSet(wanted, null=True))
    assert found is not None
    assert found[0] == column
    assert found[1].null
    beside = st.sampled_from(anchors).flatmap(lambda x: st.integers(x - 2 * HOUR, x + 2 * HOUR))
    steps_ = st.sampled_from(anchors).flatmap(lambda x: st.sampled_from([x - 1, x, x + 1, x - 31, x + 31]))
    number = data.draw(beside | steps_ | drawn(column.type, name))
    least, greatest = column.type.integer_range or (0, 0)
    if not least <= number <= greatest:
        return
    images = values_of(node, number)
    expected = any(wanted.holds(image) for image in images) if images else not wanted.empty
    event(f"in the set: {expected}")
    assert found[1].cuts.holds(number) is expected
    assert canonical(found[1].cuts, column.type)


@pytest.mark.parametrize("number", [steps.MICROS_MAX, steps.MICROS_MAX + 1, -steps.MICROS_MAX - 1, 2**63 - 1])
def test_the_preimage_of_a_day_reaches_beyond_the_limits_of_steps(number: int) -> None:
    """A quotient has a value at each number, where the rules compute none; the search took it for NULL."""
    node = increasing("UTC")["timestamp_ntz as date"]
    days_of_number = cuts.of_values([number // DAY], DATE)
    preimage = time_preimage(node, ValueSet(days_of_number))
    assert preimage is not None
    numbers = preimage[1].cuts
    assert numbers.holds(number)
    assert values_of(node, number) == [number // DAY]
    assert not numbers.holds(number - DAY)


def canonical(values: Any, type_: Type) -> bool:
    """Whether a set is written as the others are: cuts of the type, ascending, before values."""
    assert isinstance(values, Cuts)
    least, greatest = type_.integer_range or (0, 0)
    places = [place for place, _ in values.points]
    inside = all(least < place <= greatest for place in places)
    return inside and places == sorted(set(places)) and not any(after for _, after in values.points)


@pytest.mark.parametrize("function", INCREASING)
def test_preimages_change_at_transitions(function: str) -> None:
    """Every place where membership changes, next to which the exact value changes as well."""
    name = "America/St_Johns"
    node = increasing(name)[function]
    column, type_ = operand(node), type_of(node)
    anchors = (
        transitions(name)[-40:-20]
        if column.type != DATE
        else [day for day in days() if abs(day) < 700_000][:20]
    )
    for anchor in anchors:
        image = value_of(node, anchor)
        assert image is not None
        found = time_preimage(node, ValueSet(cuts.of_values([image], type_)))
        assert found is not None
        points = [int(place) for place, _ in found[1].cuts.points]
        assert found[1].cuts.holds(anchor)
        for place in points:
            if value_of(node, place) is not None and value_of(node, place - 1) is not None:
                assert (image in values_of(node, place)) is not (image in values_of(node, place - 1))


def test_a_date_that_comes_twice_has_two_runs_of_instants() -> None:
    name = "America/St_Johns"
    local = known(name).local
    back = next(
        start
        for start in transitions(name)
        if start > 656_000_000_000_000 and local.at(start) < local.at(start - 1)
    )
    node = Cast(T, DATE, zone=name)
    day = local.at(back - 1) // DAY
    found = time_preimage(node, ValueSet(cuts.of_values([day], DATE)))
    assert found is not None
    assert len(list(found[1].cuts.intervals())) == 2 + 2  # and what lies beyond, at either end


@pytest.mark.parametrize(
    "node",
    [
        Call(Function.DATE_TRUNC, (text("DAY"), T), TIMESTAMP, zone="America/Nowhere"),
        Call(Function.DATE_TRUNC, (text("DAY"), T), TIMESTAMP),
        Call(Function.DATE_FORMAT, (T, text("dd-MM-yyyy")), STRING, zone="UTC"),
        Call(Function.DATE_FORMAT, (T, text("yyyy-dd")), STRING, zone="UTC"),
        Call(Function.DATE_FORMAT, (T, text("y")), STRING, zone="UTC"),
        Call(Function.DATE_FORMAT, (T, text("yyyy [MM]")), STRING, zone="UTC"),
        Call(Function.DATE_ADD, (D, Column("k", INTEGER)), DATE),
        Cast(T, DATE),
    ],
)
def test_what_is_not_known_to_be_in_order_is_not_pulled_back(node: Expression) -> None:
    assert time_preimage(node, ValueSet(null=True)) is None
