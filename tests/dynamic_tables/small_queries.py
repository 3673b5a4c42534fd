"""Small queries over tables with columns a and b, bound without SQL, and what they give at a time.

Each gives columns a and b again, so that any may be read by any.
"""

from dataclasses import dataclass

from dynamic_tables.bags.aggregates import aggregate
from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.maintenance.algebra import Filter, Group, Join, JoinKind, Project, Scan, UnionAll
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.refreshes.engine import layout
from dynamic_tables.storage.netting import reshape
from dynamic_tables.storage.versions import Purged
from dynamic_tables.values.expressions import Column, Literal
from dynamic_tables.values.functions import call
from dynamic_tables.values.types import INTEGER, Field
from pruning.errors import InputError

FIELDS = (Field("a", INTEGER), Field("b", INTEGER))
A, B = Column(0, INTEGER), Column(1, INTEGER)
NAMES = ("a", "b")
KINDS = ("copy", "star", "filter", "sum", "union", "join", "left", "divide")
BACKEND = BagBackend()


@dataclass(frozen=True)
class Small:
    """A query by its kind; `join`, `left` and `union` read two tables, or one twice."""

    kind: str
    reads: tuple[str, ...]


def bind(state, entity, columns=None):
    """The binder of `refreshing`; as the oracle's, it asks nobody for columns."""
    return Query(defined(state, entity, columns or (lambda table: fields_of(state, table))))


def defined(state, entity, columns):
    """What the definition of a view or a dynamic table computes."""
    kind, reads = entity.definition.kind, entity.definition.reads
    if kind == "star":
        return source(state, entity, columns, reads[0], star=True)
    first, last = (source(state, entity, columns, name) for name in (reads[0], reads[-1]))
    match kind:
        case "copy":
            return Project(first, (A, B), NAMES)
        case "filter":
            return Filter(first, call(">", A, B))
        case "sum":
            return Group(first, (A,), (aggregate("sum", B),), NAMES)
        case "union":
            return UnionAll((first, last))
        case "divide":
            return Project(first, (A, call("+", B, zero_if_defined(B))), NAMES)
        case "join" | "left":
            how = JoinKind.LEFT if kind == "left" else JoinKind.INNER
            joined = Join(first, last, how, (A,), (A,))
            return Project(joined, (A, Column(3, INTEGER)), NAMES)
    raise AssertionError(kind)


def zero_if_defined(divisor):
    """0, but an error where the divisor is 0."""
    zero = Literal(0, INTEGER)
    return call("%", zero, divisor)


def source(state, reader, columns, name, *, star=False):
    """A table that is read, by its columns a and b or by all."""
    entity = state.find(reader.qualify(name))
    if entity is None:
        raise InputError(f"there is no {reader.qualify(name)}")
    if entity.kind is EntityKind.VIEW:
        relation = defined(state, entity, columns)
        places = tuple(range(len(relation.fields))) if star else places_of(relation.fields)
        cells = tuple(Column(place, relation.fields[place].type) for place in places)
        return Project(relation, cells, tuple(relation.fields[place].name for place in places))
    fields = columns(entity)
    places = tuple(range(len(fields))) if star else places_of(fields)
    return Scan(entity.identity, tuple(fields[place] for place in places), places)


def fields_of(state, entity):
    if entity.kind is EntityKind.TABLE:
        return tuple(column.field for column in entity.columns)
    return bind(state, entity).fields


def places_of(fields):
    names = [field.name for field in fields]
    if not set(NAMES) <= set(names):
        raise InputError("there is no column a or no column b")
    return tuple(names.index(name) for name in NAMES)


def evaluated(account, entity, data_us):
    """What the query of a table gives at a data timestamp, computed from base tables alone.

    Shares   the catalog, base tables as of a time, and the backend's full evaluation.
    Removes  frontiers, differentiation, and what any dynamic table holds.
    """
    state = account.catalog.as_of(max(data_us, entity.created.physical_us))
    query = bind(state, state.entities.get(entity.identity, entity))
    sources = {}
    for read in query.sources:
        table = state.entities[read]
        if table.kind is EntityKind.DYNAMIC_TABLE:
            sources[read] = evaluated(account, table, data_us)
        else:
            stored = account.tables[read].contents(newest(account.tables[read], data_us))
            sources[read] = reshape(stored, layout(table))
    return BACKEND.full(query, sources)


def newest(table, data_us):
    """The number of the newest version that is not after a data timestamp, by looking at each."""
    numbers = range(table.oldest.number, table.latest.number + 1)
    old = [number for number in numbers if table.version(number).commit_time.physical_us <= data_us]
    if not old:
        raise Purged(f"nothing is retained of {data_us} us")
    return old[-1]


def bag(contents):
    """Rows without their ids."""
    return sorted(contents.values(), key=repr)
