"""The classes of bugs by files: their statistics, partitions, schemas and row groups without rows.

Three classes never show in the decisions of a correct engine: what writers get wrong, files with other
schemas, and nested columns. Of these the statistics of the chunks concerned are taken away, so that they
count where a decision rests on those.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from skipproof.stand.hunt.reach.cell_classes import DataClass, has_some, is_misjudged, with_plain_cells
from skipproof.stand.hunt.reach.scenes import Scene, chunk_of
from skipproof.stand.hunt.reach.terms import parts_of
from skipproof.stand.reference.engine import plain_relation
from skipproof.stand.reference.evaluating import Schema
from skipproof.stand.reference.tables import NOTHING, Chunk, Group, has_transform
from skipproof.stand.reference.values import Nan, Row, is_integer
from strategies.engines.questions import Json


def of_statistics(
    is_concerned: Callable[[Scene, Group, Chunk], bool], to: Mapping[str, bool], *, aside: str = ""
) -> DataClass:
    """Return the class of columns with chunks of some kind; without it, other statistics are available.

    Args:
        aside: Statistics that would hide these, and are left out in both scenes.
    """

    def is_present(scene: Scene, column: str) -> bool:
        return any(
            chunk is not None and is_concerned(scene, group, chunk) for group, chunk in scene.chunks(column)
        )

    def without(scene: Scene, column: str) -> Scene:
        concerned = {
            id(chunk)
            for group, chunk in scene.chunks(column)
            if chunk is not None and is_concerned(scene, group, chunk)
        }
        return scene.with_chunks(
            column, lambda chunk: _with_stated(chunk, others) if id(chunk) in concerned else chunk
        )

    def baseline(scene: Scene, column: str) -> Scene:
        return scene.with_chunks(column, lambda chunk: _with_stated(chunk, {aside: False}))

    others = {**to, aside: False} if aside else to
    return DataClass(is_present, without, baseline if aside else None)


def _with_stated(chunk: Chunk, others: Mapping[str, bool]) -> Chunk:
    """Return a chunk of which other statistics are available."""
    return replace(chunk, stated=replace(chunk.stated, **others))


_STATED = {"bounds": True, "nulls": True, "nans": True}
_UNKNOWN = {"bounds": False, "nulls": False, "nans": False, "dictionary": False, "bloom": False}


def _lacks_statistics(scene: Scene, group: Group, chunk: Chunk) -> bool:
    """Tell whether a chunk of a file lacks statistics that its cells could have."""
    if chunk.partition is not None:
        return False
    if scene.settings.get("statistics", "all") != "all" or not chunk.stated.nulls:
        return True
    return not chunk.stated.bounds and any(
        cell is not None and not isinstance(cell, Nan) for cell in chunk.cells
    )


def _without_lack(scene: Scene, column: str) -> Scene:
    settings = {name: value for name, value in scene.settings.items() if name != "statistics"}
    return replace(_LACKING.without(scene, column), settings=settings)


_LACKING = of_statistics(_lacks_statistics, _STATED)


def _is_mistrusted(scene: Scene, group: Group, chunk: Chunk) -> bool:
    """Tell whether writers have got the statistics of such a chunk wrong, of NULL in several pages too."""
    if has_some(chunk.cells, chunk.type, is_misjudged) and chunk.stated.bounds:
        return True
    per_page = scene.stored[scene.table_of(chunk.column)].layout.rows_per_page
    return chunk.stated.nulls and per_page is not None and len(chunk.cells) > per_page and None in chunk.cells


def _is_partitioned(scene: Scene, column: str) -> bool:
    table = scene.tables[scene.table_of(column)]
    if column != next(iter(table.schema)):
        return False
    stored = any(chunk is not None and chunk.partition is not None for _, chunk in scene.chunks(column))
    return stored or has_transform(scene.settings.get("partitions", "none"), scene.type_of(column))


def _without_partitions(scene: Scene, column: str) -> Scene:
    settings = {name: value for name, value in scene.settings.items() if name != "partitions"}
    without = scene.with_chunks(
        column,
        lambda chunk: chunk if chunk.partition is None else replace(chunk, partition=None, stated=NOTHING),
    )
    return replace(without, settings=settings)


def _is_in_other_schema(scene: Scene, group: Group, chunk: Chunk) -> bool:
    """Tell whether a chunk is in a file whose columns are in another order, or narrower."""
    name = scene.table_of(chunk.column)
    position = scene.tables[name].schema[chunk.column][0]
    if scene.stored[name].layout.evolution == "reordered":
        return chunk.partition is None and chunk.ordinal != position + _ballast(group)
    return is_integer(chunk.type) and bool(chunk.stored) and chunk.stored != chunk.type


def _ballast(group: Group) -> int:
    """Return the number of leaf columns before those of the table."""
    return sum(chunk.path.startswith("ballast") for chunk in group.chunks)


_OTHER_SCHEMA = of_statistics(_is_in_other_schema, _UNKNOWN)


def _is_evolved(scene: Scene, column: str) -> bool:
    missing = any(chunk is None for _, chunk in scene.chunks(column))
    return missing or _OTHER_SCHEMA.is_present(scene, column)


def _without_evolution(scene: Scene, column: str) -> Scene:
    if all(chunk is not None for _, chunk in scene.chunks(column)):
        return _OTHER_SCHEMA.without(scene, column)
    full = with_plain_cells(scene, column, lambda cell: cell is None, lambda cell: cell is not None)
    name = scene.table_of(column)
    pairs = zip(scene.tables[name].groups, full.tables[name].groups, strict=True)
    return scene.with_table(name, [new if chunk_of(old, column) is None else old for old, new in pairs])


def _is_nested(scene: Scene, group: Group, chunk: Chunk) -> bool:
    """Tell whether a column is a field of a struct, or comes after one in its file."""
    return _ballast(group) > 0 or chunk.path != chunk.column


def _has_filter(scene: Scene, group: Group, chunk: Chunk) -> bool:
    return chunk.stated.bloom and chunk.type != "boolean"


def _has_pages(scene: Scene, group: Group, chunk: Chunk) -> bool:
    return chunk.stated.pages


def _has_dictionary(scene: Scene, group: Group, chunk: Chunk) -> bool:
    return chunk.stated.dictionary


def _has_empty_input(scene: Scene, column: str) -> bool:
    groups = scene.tables[scene.table_of(column)].groups
    return any(not group.rows for group in groups) or any(_empty_relations(scene))


def _empty_relations(scene: Scene) -> Iterator[Json]:
    """Yield the relations without rows of a join, a set operation or a subquery."""
    relations = [part for part in parts_of(scene.question) if "table" in part]
    if len(relations) > 1:
        # Only the outer relation of a subquery has a subquery in its condition.
        simple = (
            relation for relation in relations if not any("query" in part for part in parts_of(relation))
        )
        yield from (relation for relation in simple if not plain_relation(relation, scene.tables)[0])


def _without_empty_inputs(scene: Scene, column: str) -> Scene:
    """Return the scene without empty row groups; an empty side has all rows, or one of another table."""
    name = scene.table_of(column)
    empty = list(_empty_relations(scene))
    fuller = scene.with_table(name, [group for group in scene.tables[name].groups if group.rows])
    rows = [row for table in scene.tables.values() for row in table.rows][:1]
    for relation in empty:
        table = scene.tables[relation["table"]]
        if not table.rows and rows:
            fuller = fuller.with_table(relation["table"], [_group_of(rows, table.schema)])

    def change(node: Json) -> Json:
        if isinstance(node, list):
            return [change(child) for child in node]
        if not isinstance(node, dict):
            return node
        whole = {"where": None, "limit": None, "offset": 0} if node in empty else {}
        return {key: change(child) for key, child in (node | whole).items()}

    return replace(fuller, question=change(scene.question))


def _group_of(rows: Sequence[Row], schema: Schema) -> Group:
    """Return a row group of rows without statistics."""
    chunks = [
        Chunk(
            path=name,
            column=name,
            type=type_,
            cells=[row[at] for row in rows],
            stated=NOTHING,
            ordinal=at,
        )
        for name, (at, type_) in schema.items()
    ]
    return Group(rows, chunks)


NOSTATS = DataClass(_LACKING.is_present, _without_lack)
BADSTATS = of_statistics(_is_mistrusted, _UNKNOWN)
PART = DataClass(_is_partitioned, _without_partitions)
PAGE = of_statistics(_has_pages, {"pages": False})
SCHEMA = DataClass(_is_evolved, _without_evolution)
BLOOM = of_statistics(_has_filter, {"bloom": False}, aside="dictionary")
DICT = of_statistics(_has_dictionary, {"dictionary": False}, aside="bloom")
NESTED = of_statistics(_is_nested, _UNKNOWN)
EMPTY = DataClass(_has_empty_input, _without_empty_inputs, depends_on_question=True)
