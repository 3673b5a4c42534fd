"""A week of 1,000 dynamic tables in 50 graphs, simulated: how long that takes, and what it came to.

    python bench/dynamic_tables_week.py [DAYS]

Target lags, modes and changes are drawn from [D] 6.3: of lags a quarter of 16 hours, a fifth below 5
minutes, the rest between; 70 % INCREMENTAL. Contents are not checked here; small worlds check them.
"""

import random
import sys
import time
from collections import Counter

from sim.refreshes.events import Committed, RefreshOrdered
from sim.refreshes.measures import measures
from sim.refreshes.model import RefreshWarehouse, RefreshWorld, Setup, Statement, Writer
from sim.refreshes.run import run

GRAPHS, TABLES = 50, 20
DAY_US = 86_400_000_000
# Of a graph's tables, from upstream to downstream: a lag below upstream's cannot be met.
LAGS = (
    *["'1 minute'", "'2 minutes'", "'3 minutes'", "'4 minutes'"],
    *["'10 minutes'", "'30 minutes'", "'1 hour'", "'2 hours'", "'3 hours'", "'4 hours'"],
    *["'5 hours'", "'6 hours'", "'8 hours'", "'10 hours'", "'12 hours'"],
    *["'16 hours'"] * 5,
)


def statements(draw: random.Random) -> list[str]:
    """Return the statements of the graphs: a base table each, and tables over it and each other."""
    found = []
    for graph in range(GRAPHS):
        base = f"s.b{graph}"
        found.append(f"CREATE TABLE {base} (k INTEGER, g TEXT, v INTEGER)")
        known = [base]
        for number in range(TABLES):
            name, above = f"s.g{graph}_{number}", draw.choice(known[-4:])
            query = draw.choice(
                (
                    f"SELECT k, g, v FROM {above} WHERE v > 1",
                    f"SELECT g, COUNT(*) AS k, SUM(v) AS v FROM {above} GROUP BY g",
                    f"SELECT y.k, y.g, y.v FROM {base} y"
                    f" JOIN (SELECT g, COUNT(*) AS n FROM {above} GROUP BY g) x ON x.g = y.g",
                )
            )
            mode = "" if draw.random() < 0.7 else "REFRESH_MODE = FULL "
            found.append(
                f"CREATE DYNAMIC TABLE {name} TARGET_LAG = {LAGS[number]} WAREHOUSE = w {mode}AS {query}"
            )
            known.append(name)
    return found


def main(days: float) -> None:
    """Run it and print what it came to."""
    draw = random.Random("week")
    span_us = int(days * DAY_US)
    setup = Setup(
        world=RefreshWorld(until_us=span_us, settle_us=0, heartbeat_us=60_000_000, begin_us=0, commit_us=0),
        warehouse=(RefreshWarehouse(workers=100, fixed_us=500_000),),
        # A little apart: the catalog keeps a few past states, and renders older ones anew.
        statement=tuple(
            Statement(sql=sql, at_us=1 + 10_000_000 * at) for at, sql in enumerate(statements(draw))
        ),
        writer=tuple(
            Writer(
                table=f"s.b{graph}", every_us=draw.choice((1, 4, 24)) * 3_600_000_000, rows_max=20, updates=2
            )
            for graph in range(GRAPHS)
        ),
        checked=False,
    )
    began = time.process_time()
    done = run(setup, seed=0)
    took = time.process_time() - began
    found = measures(done)
    first = Counter(
        event.table
        for event in done.trace
        if isinstance(event, RefreshOrdered) and event.trigger == "initial"
    )
    peaks = sorted(event.peak_us for event in done.trace if isinstance(event, Committed))
    print(f"{GRAPHS * TABLES} tables, {days:g} days: {took:.1f} s of processor time")
    print(f"{found['refreshes']:,.0f} refreshes, {sum(first.values())} of them first ones")
    print(f"{found['no_data_percent']:.1f} % of them NO_DATA")
    shares = ", ".join(
        f"{share} % {peaks[len(peaks) * share // 100] / 1e6:,.0f} s" for share in (10, 50, 90, 99)
    )
    print(f"peak lag: {shares}; late at the end: {found['late_tables']:.0f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 7)
