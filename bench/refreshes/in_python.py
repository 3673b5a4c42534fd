"""Measure incremental refreshes of `BagBackend` beside full ones, over a million rows of which 100 changed.

For each query and kind of change: the processor time of the changes and of full evaluation, in turns, and
the ratio of the medians. Both compute row ids. The first interval compiles the plan and is not counted.

    PYTHONPATH=. python bench/refreshes/in_python.py [--rows N] [--rounds N]
"""

import argparse
import gc
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from time import process_time

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.definitions import BoundTable, SqlDefinition, bind_definition
from dynamic_tables.storage.netting import difference
from dynamic_tables.values.changes import Contents, Delta
from dynamic_tables.values.types import INTEGER, TEXT, Field

CHANGED = 100
# Facts are of so many customers, and customers of so many cities.
FACTS_OF_CUSTOMER = 100
CUSTOMERS_OF_CITY = 10
TABLES: Mapping[str, BoundTable] = {
    "facts": BoundTable(
        "facts", (Field("id", INTEGER), Field("customer", INTEGER), Field("amount", INTEGER))
    ),
    "customers": BoundTable("customers", (Field("id", INTEGER), Field("city", TEXT))),
}
QUERIES = {
    "filter": "SELECT id, amount FROM facts WHERE amount > 500",
    "group": "SELECT customer, COUNT(*) n, SUM(amount) total FROM facts GROUP BY customer",
    "join": "SELECT f.id, f.amount, c.city FROM facts f JOIN customers c ON f.customer = c.id",
    "left join": "SELECT f.id, f.amount, c.city FROM facts f LEFT JOIN customers c ON f.customer = c.id",
    "window": (
        "SELECT id, customer, ROW_NUMBER() OVER (PARTITION BY customer ORDER BY amount) place FROM facts"
    ),
    "join and group": (
        "SELECT c.city, COUNT(*) n, SUM(f.amount) total FROM facts f JOIN customers c ON f.customer = c.id"
        " GROUP BY c.city"
    ),
}


@dataclass(frozen=True, slots=True)
class Interval:
    """One table over one interval."""

    before: Contents
    after: Contents
    changes: Delta


def base_tables(rows: int) -> dict[str, Contents]:
    """Return facts in the order of their customers, and customers."""
    customers = rows // FACTS_OF_CUSTOMER
    return {
        "facts": {f"{n}": (n, n // FACTS_OF_CUSTOMER, n * 7919 % 1000) for n in range(rows)},
        "customers": {f"{n}": (n, f"city {n // CUSTOMERS_OF_CITY}") for n in range(customers)},
    }


def updated_facts(tables: Mapping[str, Contents], step: int) -> dict[str, Contents]:
    """Return the tables with other amounts in 100 facts, `step` apart."""
    facts = dict(tables["facts"])
    for place in range(0, CHANGED * step, step):
        id_, customer, amount = facts[f"{place}"]
        facts[f"{place}"] = (id_, customer, (amount + 1) % 1000)
    return {**tables, "facts": facts}


def median_times(
    query: Query, before: Mapping[str, Contents], after: Mapping[str, Contents], rounds: int
) -> str:
    """Return the median times of changes and of full evaluation, and their ratio."""
    backend = BagBackend()
    sources = {
        name: Interval(before[name], after[name], difference(before[name], after[name])) for name in before
    }
    held = backend.full(query, before)
    backend.changes(query, sources, held)
    changes, full = [], []
    for _ in range(rounds):
        gc.collect()
        began = process_time()
        delta = backend.changes(query, sources, held)
        changes.append(process_time() - began)
        began = process_time()
        backend.full(query, after)
        full.append(process_time() - began)
    ratio = median(changes) / median(full)
    return f"{len(delta):>8,} {median(changes):>9.2f} s {median(full):>8.2f} s {ratio:>7.2f}"


def main() -> None:
    """Print a line for each query and kind of change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    tables = base_tables(options.rows)
    kinds = {"clustered": 1, "scattered": options.rows // CHANGED}
    print(f"{'query':<16}{'changes':<12}{'changed':>8} {'changes':>11} {'full':>10} {'ratio':>7}")
    for name, text in QUERIES.items():
        query = bind_definition(SqlDefinition(text), TABLES.get)
        for kind, step in kinds.items():
            line = median_times(query, tables, updated_facts(tables, step), options.rounds)
            print(f"{name:<16}{kind:<12}{line}", flush=True)


if __name__ == "__main__":
    main()
