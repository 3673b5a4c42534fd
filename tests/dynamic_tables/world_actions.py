"""What may happen in a small world, drawn from a `random.Random`: a seed, or Hypothesis, which shrinks it."""

from small_queries import FIELDS, KINDS, Small

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.ddl import Initialize, Mode
from dynamic_tables.catalog.lags import DOWNSTREAM, MINUTE_US
from dynamic_tables.values.types import INTEGER, Field

LAGS = [MINUTE_US, 2 * MINUTE_US, 5 * MINUTE_US, DOWNSTREAM]
BASES = ["s.b0", "s.b1"]
DYNAMIC = ["s.d0", "s.d1", "s.d2", "s.d3"]
TABLES = [*BASES, *DYNAMIC, "s.v", "t.b0", "t.d0", "t.d1"]
READS = ["b0", "b1", "d0", "d1", "d2", "v"]
COLUMNS = [Field("c", INTEGER), Field("a", INTEGER)]


def definition(random):
    return Small(random.choice(KINDS), (random.choice(READS), random.choice(READS)))


def create(random):
    return ddl.CreateDynamicTable(
        name=random.choice(DYNAMIC),
        definition=definition(random),
        lag=random.choice(LAGS),
        warehouse="w",
        mode=random.choice([Mode.INCREMENTAL, Mode.INCREMENTAL, Mode.FULL]),
        initialize=random.choice(list(Initialize)),
        replace=random.random() < 0.5,
    )


def body(random):
    """That of a view: often over what it read before."""
    same = Small(random.choice(["copy", "star", "filter", "sum"]), ("d1",))
    return random.choice([same, definition(random)])


# What brings refreshes about is likely; where workers only wait, nothing can go wrong.
STATEMENTS = [
    (8, create),
    (3, lambda random: ddl.CreateView("s.v", body(random), replace=True)),
    (2, lambda random: ddl.CreateTable(random.choice(BASES), FIELDS, replace=True)),
    (2, lambda random: ddl.AddColumn(random.choice(BASES), random.choice(COLUMNS))),
    (1, lambda random: ddl.DropColumn(random.choice(BASES), random.choice(["a", "c", "c"]))),
    (1, lambda random: ddl.SetLag(random.choice(DYNAMIC), random.choice(LAGS))),
    (2, lambda random: ddl.Suspend(random.choice(DYNAMIC))),
    (4, lambda random: ddl.Resume(random.choice(TABLES))),
    (2, lambda random: ddl.Drop(random.choice(TABLES))),
    (4, lambda random: ddl.Undrop(random.choice(TABLES))),
    (1, lambda random: ddl.Rename(random.choice(TABLES), random.choice(TABLES))),
    (2, lambda random: ddl.Swap(random.choice(TABLES), random.choice(TABLES))),
    (1, lambda random: ddl.Clone(random.choice(TABLES), random.choice(TABLES))),
    (1, lambda random: ddl.CloneSchema("s", "t")),
    (1, lambda random: ddl.SwapSchemas("s", "t")),
]
ACTIONS = [
    (12, lambda random: ("settle", random.choice([12, 48, 48, 96]))),
    (12, lambda random: ("write", random.choice(BASES), random.randint(0, 3), random.randint(0, 2))),
    (6, lambda random: ("advance", random.choice([0.5, 7, 24, 48, 100]))),
    (12, lambda random: ("work", random.randint(0, 5))),
    (3, lambda random: ("finish_all",)),
    (3, lambda random: ("manual", random.choice(DYNAMIC), random.randint(0, 2))),
    (6, lambda random: ("ddl", drawn(random, STATEMENTS), random.randint(0, 2))),
    (1, lambda random: ("crash", random.randint(0, 5))),
    (1, lambda random: ("vanish", random.randint(0, 5))),
    (2, lambda random: ("repeat", random.randint(0, 5))),
    (1, lambda random: ("silence", random.randint(0, 5))),
    (1, lambda random: ("purge", random.choice([0, 60, 600]))),
    (4, lambda random: ("hold", random.randint(0, 5), random.randint(1, 10))),
    (1, lambda random: ("renew_column", random.choice(BASES), random.choice("ab"))),
    (1, lambda random: ("advance", 500)),
    (2, lambda random: ("write_zero", random.choice(BASES))),
    (3, lambda random: ("fix_zeros", random.choice(BASES))),
]


def drawn(random, choices):
    """One of weighted choices."""
    weights = [weight for weight, _ in choices]
    return random.choices([draw for _, draw in choices], weights)[0](random)


def run(world, random, count):
    """Let so much happen to a small graph; then all must come up to date."""
    world.dynamic("s.d0", "divide", "b0")
    world.dynamic("s.d1", "join", "d0", "b1", lag=2 * MINUTE_US)
    world.ddl(ddl.CreateView("s.v", Small("filter", ("d1",))))
    world.dynamic("s.d2", "sum", "v", lag=DOWNSTREAM)
    for _ in range(count):
        name, *arguments = drawn(random, ACTIONS)
        if name == "write_zero":
            world.write(*arguments, 1, zero=True)
        else:
            getattr(world, name)(*arguments)
    world.calm_down()
