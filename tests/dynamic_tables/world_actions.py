"""What may happen in a small world, as values that Hypothesis draws and shrinks."""

from hypothesis import strategies as st
from small_queries import FIELDS, KINDS, Small

from dynamic_tables import ddl
from dynamic_tables.ddl import Initialize, Mode
from dynamic_tables.lags import DOWNSTREAM, MINUTE_US
from dynamic_tables.types import INTEGER, Field

LAGS = st.sampled_from([MINUTE_US, 2 * MINUTE_US, 5 * MINUTE_US, DOWNSTREAM])
BASES = st.sampled_from(["s.b0", "s.b1"])
DYNAMIC = st.sampled_from(["s.d0", "s.d1", "s.d2", "s.d3"])
TABLES = st.one_of(BASES, DYNAMIC, st.just("s.v"), st.sampled_from(["t.b0", "t.d0", "t.d1"]))
READ = st.sampled_from(["b0", "b1", "d0", "d1", "d2", "v"])
DEFINITIONS = st.builds(
    lambda kind, one, other: Small(kind, (one, other)), st.sampled_from(KINDS), READ, READ
)

CREATE = st.builds(
    lambda name, definition, lag, mode, initialize, replace: ddl.CreateDynamicTable(
        name=name, definition=definition, lag=lag, warehouse="w", mode=mode, initialize=initialize,
        replace=replace,
    ),
    DYNAMIC, DEFINITIONS, LAGS, st.sampled_from(list(Mode)), st.sampled_from(list(Initialize)), st.booleans(),
)  # fmt: skip

STATEMENTS = st.one_of(
    CREATE,
    CREATE,
    st.builds(ddl.CreateView, st.just("s.v"), DEFINITIONS, st.just(True)),
    st.builds(lambda name: ddl.CreateTable(name, FIELDS, replace=True), BASES),
    st.builds(ddl.AddColumn, BASES, st.sampled_from([Field("c", INTEGER), Field("a", INTEGER)])),
    st.builds(ddl.DropColumn, BASES, st.sampled_from(["a", "c"])),
    st.builds(ddl.SetLag, DYNAMIC, LAGS),
    st.builds(ddl.Suspend, DYNAMIC),
    st.builds(ddl.Resume, TABLES),
    st.builds(ddl.Drop, TABLES),
    st.builds(ddl.Undrop, TABLES),
    st.builds(ddl.Rename, TABLES, TABLES),
    st.builds(ddl.Swap, TABLES, TABLES),
    st.builds(ddl.Clone, TABLES, TABLES),
    st.builds(ddl.CloneSchema, st.just("s"), st.just("t")),
    st.builds(ddl.SwapSchemas, st.just("s"), st.just("t")),
)
PLACES = st.integers(0, 5)
NODES = st.integers(0, 2)


def action(name, *arguments):
    return st.tuples(st.just(name), *arguments)


# What brings refreshes about comes first and often; where workers only wait, nothing can go wrong.
USUAL = st.one_of(
    action("settle", st.sampled_from([12, 48, 96])),
    action("write", BASES, st.integers(0, 3), NODES),
    action("advance", st.sampled_from([0.5, 7, 24, 48, 100])),
    action("work", PLACES),
    action("finish_all"),
    action("manual", DYNAMIC),
)
UNUSUAL = st.one_of(
    action("ddl", STATEMENTS, NODES),
    action("ddl", STATEMENTS, NODES),
    action("crash", PLACES),
    action("vanish", PLACES),
    action("repeat", PLACES),
    action("silence", PLACES),
    action("purge", st.sampled_from([0, 60, 600])),
    action("advance", st.just(500)),
    action("write_zero", BASES),
    action("fix_zeros", BASES),
)
HISTORIES = st.lists(st.one_of(USUAL, USUAL, UNUSUAL), min_size=1, max_size=60)


def run(world, actions):
    """Let it happen, from a small graph; then faults stop and everything must come up to date."""
    start(world)
    for name, *arguments in actions:
        if name == "write_zero":
            world.write(*arguments, 1, zero=True)
        else:
            getattr(world, name)(*arguments)


def start(world):
    """Two tables over base tables, one over both, a view."""
    world.dynamic("s.d0", "copy", "b0")
    world.dynamic("s.d1", "join", "d0", "b1", lag=2 * MINUTE_US)
    world.ddl(ddl.CreateView("s.v", Small("filter", ("d1",))))
    world.dynamic("s.d2", "sum", "v", lag=DOWNSTREAM)
