"""The catalog: what each statement does, what is refused, and that the log alone tells everything."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.catalog import applying, ddl
from dynamic_tables.catalog.ddl import Privilege
from dynamic_tables.catalog.entities import SYSTEM
from dynamic_tables.catalog.graphs import affected_tables, node_of, nodes, referenced_entities
from dynamic_tables.catalog.lags import DOWNSTREAM
from dynamic_tables.catalog.log import Catalog, replay
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.values.types import INTEGER, Field
from pruning.errors import InputError

MINUTE_US = 60_000_000
A = Field("a", INTEGER)


@dataclass(frozen=True)
class Reads:
    """A definition of which only the names matter."""

    reads: tuple[str, ...]


def table(name, **options):
    return ddl.CreateTable(name, (A,), **options)


def view(name, *reads, **options):
    return ddl.CreateView(name, Reads(reads), **options)


def dynamic(name, *reads, lag=MINUTE_US, **options):
    options = {"warehouse": "w", **options}
    return ddl.CreateDynamicTable(name=name, definition=Reads(reads), lag=lag, **options)


def catalog_of(*statements, role="owner"):
    catalog = Catalog()
    for statement in statements:
        run(catalog, statement, role=role)
    return catalog


def run(catalog, statement, role="owner"):
    last = catalog.last
    committed = Timestamp(0 if last is None else last.physical_us + 10, 0, 0)
    return catalog.append(statement, role=role, committed=committed)


def node(catalog, name):
    return node_of(catalog.state, catalog.state.get(name))


def identity(catalog, name):
    return catalog.state.names[name]


def test_upstream_is_seen_through_views():
    """R-DVS-05, R-DVS-45. A dynamic table reads base tables, views and dynamic tables; views are expanded."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"), view("s.v", "d", "s.b"), dynamic("s.e", "v"))
    assert node(catalog, "s.e").upstream == (identity(catalog, "s.d"),)
    assert node(catalog, "s.e").base == (identity(catalog, "s.b"),)


CYCLES = [
    (ddl.CreateView("s.v", Reads(("e",)), replace=True), "s.v would read itself"),
    (dynamic("s.d", "e", replace=True), "s.d would read itself"),
    (dynamic("s.d", "d", replace=True), "s.d would read itself"),
    (ddl.Swap("s.d", "s.e"), "would read itself"),
]


@pytest.mark.parametrize(("statement", "message"), CYCLES)
def test_a_cycle_is_refused_and_changes_nothing(statement, message):
    """R-DVS-05. Also through views, by replacing and by swapping."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"), view("s.v", "d"), dynamic("s.e", "v"))
    before = catalog.state, catalog.log
    with pytest.raises(InputError, match=message):
        run(catalog, statement)
    assert (catalog.state, catalog.log) == before


def test_a_cycle_by_rename_is_refused():
    """R-DVS-05. A name that a table reads, and that leads nowhere, cannot be given to one below it."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"), dynamic("s.e", "d"), ddl.Drop("s.b"))
    with pytest.raises(InputError, match=r"s\.b would read itself"):
        run(catalog, ddl.Rename("s.e", "s.b"))


def test_upstream_wins():
    """R-DVS-40, trap 42. What others read is dropped, replaced, renamed; they find that it is."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"))
    first = identity(catalog, "s.b")
    run(catalog, table("s.b", replace=True))
    assert node(catalog, "s.d").base == (identity(catalog, "s.b"),)
    assert identity(catalog, "s.b") != first
    run(catalog, ddl.Rename("s.b", "s.c"))
    assert node(catalog, "s.d").missing == ("s.b",)
    run(catalog, ddl.Undrop("s.b"))
    assert node(catalog, "s.d").base == (first,)
    assert node(catalog, "s.d").missing == ()
    run(catalog, ddl.Drop("s.b"))
    assert node(catalog, "s.d").missing == ("s.b",)


def test_swap_exchanges_identities():
    """R-DVS-47. Who reads a name reads the other table from then on."""
    catalog = catalog_of(table("s.b"), table("s.c"), dynamic("s.d", "b"))
    other = identity(catalog, "s.c")
    run(catalog, ddl.Swap("s.b", "s.c"))
    assert node(catalog, "s.d").base == (other,)


def test_clones_of_a_schema_read_clones():
    """R-DVS-46. Also where the definition names the schema; clones start suspended, views are cloned too."""
    catalog = catalog_of(
        table("s.b"), table("x.b"), dynamic("s.d", "b", "s.b", "x.b"), view("s.v", "d"), dynamic("s.e", "s.v")
    )
    run(catalog, ddl.CloneSchema("s", "t"))
    assert node(catalog, "t.d").base == (identity(catalog, "t.b"), identity(catalog, "x.b"))
    assert node(catalog, "t.e").upstream == (identity(catalog, "t.d"),)
    assert node(catalog, "t.e").suspended == applying.CLONED
    assert node(catalog, "s.e").suspended is None
    assert catalog.state.get("t.d").original == identity(catalog, "s.d")
    run(catalog, ddl.CloneSchema("t", "u"))
    assert node(catalog, "u.d").base == (identity(catalog, "u.b"), identity(catalog, "x.b"))


def test_a_clone_of_one_table_reads_what_its_original_reads():
    """R-DVS-46. Even in another schema that has tables of the same names."""
    catalog = catalog_of(table("s.b"), table("t.b"), dynamic("s.d", "b"), ddl.Clone("s.d", "t.d"))
    assert node(catalog, "t.d").base == (identity(catalog, "s.b"),)


def test_a_renamed_schema_keeps_its_graph():
    """R-DVS-47. Tables in it that name no schema are unaffected; those that name the old one are not."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"), dynamic("s.e", "s.b"), table("t.b"))
    before = node(catalog, "s.d")
    run(catalog, ddl.RenameSchema("s", "r"))
    assert node(catalog, "r.d") == before
    assert node(catalog, "r.e").missing == ("s.b",)
    run(catalog, ddl.SwapSchemas("r", "t"))
    assert node(catalog, "t.d") == before
    run(catalog, ddl.RenameSchema("t", "s"))
    assert node(catalog, "s.e").base == before.base


REFUSED = [
    (dynamic("s.x", "b", warehouse=""), "s.x has no warehouse"),
    (dynamic("s.x", "b", lag=1), "below the minimum of one minute"),
    (dynamic("s.x", "nothing"), "there is no s.nothing"),
    (table("s.b"), "there is a s.b already"),
    (table("b"), "b has no schema"),
    (ddl.AddColumn("s.d", A), "s.d is a dynamic table; its columns"),
    (ddl.AddColumn("s.b", A), "has a column a already"),
    (ddl.DropColumn("s.b", "z"), "has no column z"),
    (ddl.SetLag("s.b", MINUTE_US), "s.b is a table, not a dynamic table"),
    (ddl.SetLag("s.d", 1), "below the minimum"),
    (ddl.Undrop("s.q"), "no s.q was dropped"),
    (ddl.Drop("s.q"), "there is no s.q"),
    (ddl.Swap("s.b", "s.b"), "cannot be swapped with itself"),
    (ddl.CloneSchema("s", "s"), "there is a schema s already"),
    (ddl.CloneSchema("q", "r"), "there is no schema q"),
    (ddl.RenameSchema("s", "s"), "there is a schema s already"),
    (ddl.Clone("s.v", "s.w"), "s.v is a view"),
]


@pytest.mark.parametrize(("statement", "message"), REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(statement, message):
    """R-DVS-01, R-DVS-12. The sentence names the table; the log stays as it is."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"), view("s.v", "b"))
    with pytest.raises(InputError, match=message):
        run(catalog, statement)
    assert len(catalog.log) == 3


def test_privileges_are_needed():
    """R-DVS-48. OPERATE suspends and resumes, OWNERSHIP does everything, MONITOR and SELECT do neither."""
    catalog = catalog_of(table("s.b"), dynamic("s.d", "b"))
    for held in (Privilege.MONITOR, Privilege.SELECT):
        run(catalog, ddl.Grant(held, "s.d", "operator"))
    with pytest.raises(InputError, match=r"role operator needs OPERATE on s\.d"):
        run(catalog, ddl.Suspend("s.d"), role="operator")
    run(catalog, ddl.Grant(Privilege.OPERATE, "s.d", "operator"))
    run(catalog, ddl.Suspend("s.d"), role="operator")
    run(catalog, ddl.Resume("s.d"), role="operator")
    with pytest.raises(InputError, match=r"role operator needs OWNERSHIP on s\.d"):
        run(catalog, ddl.Drop("s.d"), role="operator")
    run(catalog, ddl.Revoke(Privilege.OPERATE, "s.d", "operator"))
    with pytest.raises(InputError, match="needs OPERATE"):
        run(catalog, ddl.Resume("s.d"), role="operator")
    run(catalog, ddl.Drop("s.d"), role=SYSTEM)
    with pytest.raises(InputError, match=r"role operator needs SELECT on s\.b"):
        run(catalog, dynamic("s.x", "b"), role="operator")


def test_the_catalog_is_read_as_of_a_time():
    """R-DVS-45, R-DVS-83. As of any time it is what the log had then; nothing is added behind a reader."""
    catalog = catalog_of(table("s.b"), *(ddl.Rename(f"s.{old}", f"s.{new}") for old, new in ["bc", "cd"]))
    assert [sorted(catalog.as_of(us).names) for us in (-1, 0, 9, 10, 25)] == [
        [], ["s.b"], ["s.b"], ["s.c"], ["s.d"],
    ]  # fmt: skip
    with pytest.raises(AssertionError, match="a reader has seen"):
        catalog.append(ddl.Drop("s.d"), role=SYSTEM, committed=Timestamp(25, 0, 0))
    for number in range(100):
        run(catalog, ddl.Rename(f"s.{number or 'd'}", f"s.{number + 1}"))
    assert sorted(catalog.as_of(10).names) == ["s.c"]
    assert sorted(catalog.as_of(30).names) == ["s.1"]


NAMES = st.builds("{}.{}".format, st.sampled_from("st"), st.sampled_from("abcd"))
READS = st.lists(st.one_of(NAMES, st.sampled_from("abcd")), min_size=1, max_size=3, unique=True)
STATEMENTS = st.one_of(
    st.builds(table, NAMES, replace=st.booleans()),
    st.builds(lambda name, reads, over: view(name, *reads, replace=over), NAMES, READS, st.booleans()),
    st.builds(
        lambda name, reads, lag: dynamic(name, *reads, lag=lag, replace=True),
        NAMES,
        READS,
        st.sampled_from([MINUTE_US, DOWNSTREAM]),
    ),
    st.builds(ddl.Suspend, NAMES),
    st.builds(ddl.Resume, NAMES),
    st.builds(ddl.Drop, NAMES),
    st.builds(ddl.Undrop, NAMES),
    st.builds(ddl.Rename, NAMES, NAMES),
    st.builds(ddl.Swap, NAMES, NAMES),
    st.builds(ddl.Clone, NAMES, NAMES),
    st.builds(ddl.CloneSchema, st.sampled_from("st"), st.sampled_from("stu")),
    st.builds(ddl.RenameSchema, st.sampled_from("stu"), st.sampled_from("st")),
    st.builds(ddl.SwapSchemas, st.sampled_from("st"), st.sampled_from("st")),
)


def has_cycle(state):
    def reaches(name, goal, depth):
        entity = state.find(name)
        if entity is None or depth == 0:
            return depth == 0
        return any(read == goal or reaches(read, goal, depth - 1) for read in entity.reads)

    return any(reaches(name, name, 12) for name in state.names)


def test_a_lattice_of_views_is_walked_and_not_unfolded():
    """Each of 60 views reads the one below it twice over: 2^60 paths lead down."""
    catalog = catalog_of(table("s.t"))
    below = ["s.t", "s.t"]
    for number in range(60):
        for side in ("l", "r"):
            run(catalog, view(f"s.{side}{number}", *below))
        below = [f"s.l{number}", f"s.r{number}"]
    run(catalog, dynamic("s.d", *below))
    assert node(catalog, "s.d").base == (identity(catalog, "s.t"),)
    found = referenced_entities(catalog.state, catalog.state.get("s.d"))
    assert len(found) == len(set(map(id, found))) == 1 + 2 * 60 + 1


@given(st.lists(STATEMENTS, max_size=25))
def test_the_log_alone_tells_the_graph(statements):
    """R-DVS-45, R-DVS-05. The log replayed gives the same state, and the changes told are all.

    There is never a cycle, whatever is created, renamed, swapped, cloned, dropped and restored.
    """
    catalog = catalog_of(table("s.a"), table("t.a"), dynamic("s.b", "a"), dynamic("t.b", "s.b"))
    known = nodes(catalog.state)
    for statement in statements:
        before = catalog.state
        try:
            step = run(catalog, statement)
        except InputError:
            assert catalog.state is before
            continue
        for entity in affected_tables(catalog.state, step.names):
            known[entity.identity] = node_of(catalog.state, entity)
        rendered = nodes(catalog.state)
        assert {table: known[table] for table in rendered} == rendered
        assert not has_cycle(catalog.state)
    assert replay(catalog.log) == catalog.state


def test_every_statement_has_a_rule():
    """R-DVS-45. What can be written to the log can be applied."""
    assert set(applying.RULES) == set(ddl.Statement.__args__)
