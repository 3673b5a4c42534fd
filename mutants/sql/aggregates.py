"""Mutants of aggregates: each takes the place of the computation of the aggregate of the same name."""

from collections.abc import Mapping, Sequence
from typing import Any

from dynamic_tables.bags.aggregate_signatures import Compute
from dynamic_tables.bags.listed_aggregates import joined_texts, order_key


def lower_median(cells: Sequence[Any]) -> Any:
    """Take the lower of the two cells in the middle."""
    return sorted(cells)[(len(cells) - 1) // 2] if cells else None


def spread(cells: Sequence[Any], lost: int) -> float | None:
    """Return a variance with another divisor."""
    count = len(cells)
    if count <= lost:
        return None
    numbers = list(map(float, cells))
    mean = sum(numbers) / count
    return sum((number - mean) ** 2 for number in numbers) / (count - lost)


def first_of_ties(cells: Sequence[Any]) -> Any:
    """Take the row with the greatest key that comes first."""
    keyed = [row for row in cells if row[1] is not None]
    return max(keyed, key=lambda row: order_key(row[1]))[0] if keyed else None


def greatest_with_null(cells: Sequence[Any]) -> Any:
    """Take a NULL for the greatest key."""
    return max(cells, key=lambda row: order_key(row[1]))[0] if cells else None


def texts_as_they_come(cells: Sequence[Any]) -> str:
    """Leave texts in the order in which rows happen to come."""
    rows = [row for row in cells if row[0] is not None]
    return str(rows[0][-2]).join(row[0] for row in rows) if rows else ""


def texts_in_the_other_order(cells: Sequence[Any]) -> str:
    """Take ascending for descending."""
    turned = str.maketrans("ad", "da")
    return joined_texts([(*row[:-1], row[-1].translate(turned)) for row in cells])


def nulls_at_the_other_end(cells: Sequence[Any]) -> str:
    """Take NULLS FIRST for NULLS LAST."""
    turned = str.maketrans("fl", "lf")
    return joined_texts([(*row[:-1], row[-1].translate(turned)) for row in cells])


MUTANTS: Mapping[tuple[str, str], Compute] = {
    ("median", "the lower of two is the median"): lower_median,
    ("var_samp", "a sample is the whole"): lambda cells: spread(cells, 0),
    ("var_pop", "the whole is a sample"): lambda cells: spread(cells, 1),
    ("stddev_samp", "no square root"): lambda cells: spread(cells, 1),
    ("stddev_pop", "no square root"): lambda cells: spread(cells, 0),
    ("bool_or", "FALSE of no cells"): lambda cells: any(cells),
    ("bool_and", "TRUE of no cells"): lambda cells: all(cells),
    ("bool_xor", "odd for one"): lambda cells: sum(cells) % 2 == 1 if cells else None,
    ("max_by", "the first of ties"): first_of_ties,
    ("max_by", "NULL is the greatest key"): greatest_with_null,
    ("min_by", "the greatest key"): first_of_ties,
    ("listagg", "texts as rows come"): texts_as_they_come,
    ("listagg", "the other direction"): texts_in_the_other_order,
    ("listagg", "NULL at the other end"): nulls_at_the_other_end,
}
