"""Versions of tables in a plan: the files of a leaf, with their block metadata, and fewer of its files."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions import types
from pruning.expressions.types import Type
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.spark.jvm.gateway import Java
from pruning.spark.lake.leaf_copies import with_relation
from pruning.spark.lake.tables import Attribute, leaf_attributes
from pruning.spark.versioned.layouts import DELETED, HIDDEN_NUMBERS, ROW_POSITION, LayoutFiles, opened_files
from pruning.spark.versioned.schemas import fields_of, has_same_names


@dataclass(frozen=True, kw_only=True, eq=False)
class VersionTable:
    """A leaf of a plan that reads files of a version of a table.

    Attributes:
        leaf: The leaf.
        opened: All files that have the leaf's layout.
        places: The places of the leaf's files among them; shape (files,).
        attributes: The leaf's columns, under the table's names.
        deleted_ids: The expression id of the column of deleted rows, if there is one.
    """

    leaf: Java
    opened: LayoutFiles
    places: Numbers
    attributes: tuple[Attribute, ...]
    deleted_ids: frozenset[int]
    # The block metadata has all columns, whether they are in the files or not.
    partition_columns: Mapping[str, Type] = field(default_factory=dict)

    @property
    def roots(self) -> tuple[str, ...]:
        """The table's directory."""
        return (self.opened.version.location,)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The paths of the leaf's files, as the version names them."""
        return tuple(self.opened.paths[place] for place in self.places.tolist())

    @property
    def byte_counts(self) -> Numbers:
        """The sizes of the leaf's files; shape (files,)."""
        return self.opened.version.files.byte_counts[self.opened.places[self.places]]

    @property
    def data_columns(self) -> dict[str, Type]:
        """The leaf's columns, by the table's names."""
        return {attribute.name: attribute.type for attribute in self.attributes}

    @property
    def has_deletes(self) -> bool:
        """True if rows of the leaf's files may be deleted."""
        return bool(self.opened.deleted[self.places].any()) or bool(self.opened.version.equality_deletes)

    @property
    def names_in_files(self) -> dict[str, str]:
        """The names in the files of the columns that they have, by the table's names."""
        partitions = self.opened.version.partition_columns
        return {
            name: column["name"] for name, column in self.opened.columns.items() if name not in partitions
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the version for people."""
        version = self.opened.version
        kind = "snapshot" if version.format == "Apache Iceberg" else "version"
        at = f"has no {kind} yet" if version.version is None else f"is read at {kind} {version.version}"
        by_position = int(self.opened.deleted[self.places].sum())
        notes = [f"the table of {version.format} {at}"]
        if by_position:
            notes.append(f"rows of {by_position:,} of its files are deleted by their positions")
        if version.equality_deletes:
            notes.append("rows are deleted by their values")
        return (*notes, *version.notes)

    def blocks(self, names: frozenset[str]) -> pa.Table:
        """Return the block metadata of the leaf's files, of some of the table's top-level columns or more."""
        blocks = self.opened.blocks(names)
        return blocks if len(self.places) == len(blocks) else blocks.take(pa.array(self.places))

    def with_files(self, spark: SparkSession, files: Sequence[str], leaf: Java | None = None) -> Java:
        """Return a leaf that reads some of the files, in place of a leaf.

        Args:
            spark: The session.
            files: Some of the leaf's files.
            leaf: Another leaf over the same files; None is this one.
        """
        node = self.leaf if leaf is None else leaf
        chosen = set(files)
        places = [place for place in self.places.tolist() if self.opened.paths[place] in chosen]
        index = node.relation().location().narrowed(",".join(map(str, places)))
        return with_relation(spark, node, index)


def version_table(leaf: Java, opened: LayoutFiles, attributes: tuple[Attribute, ...]) -> VersionTable:
    """Return the version that a leaf reads.

    Args:
        leaf: The leaf.
        opened: All files that have its layout.
        attributes: Its columns, as `table_attributes` gives them.
    """
    text = leaf.relation().location().places()
    places = np.arange(len(opened.places))
    if text is not None:
        places = np.array(text.split(",") if text else [], np.int64)
    hidden = (attribute for attribute in leaf_attributes(leaf) if attribute.name == DELETED)
    return VersionTable(
        leaf=leaf,
        opened=opened,
        places=places,
        attributes=attributes,
        deleted_ids=frozenset(attribute.id for attribute in hidden),
    )


def table_attributes(leaf: Java) -> tuple[Attribute, ...]:
    """Return the columns of a `LogicalRelation`; of a version of a table, under the table's names.

    Claim     A row's value of a column that is returned is its value of the table's column of that name, if
              the types are the same; if not, a cast to the table's type gives it.
    Premises  A layout has the table's columns that are no partition columns, in their order.
    Proof     (1) A column of the leaf is paired with the table's by its place in the layout.
              (2) The columns that hold positions, deleted rows, sequence numbers and partitions are none of
                  the table's, and left out.
              (3) Fields inside a column may have other names than in the table. Then its type is unknown,
                  so that no block metadata is believed of them.
    Unsound   if a column of the leaf had the name under which the table has another one.
    """
    attributes, opened = leaf_attributes(leaf), opened_files(leaf)
    if opened is None:
        return attributes
    table = fields_of(opened.version.schema)
    names = {fields["name"]: name for name, fields in opened.columns.items()}
    own = []
    for attribute in attributes:
        name = names.get(attribute.name)
        if name is not None:  # (1)
            is_alike = has_same_names(opened.columns[name]["type"], table[name]["type"])
            type_ = attribute.type if is_alike else types.unknown(json.dumps(table[name]["type"]))  # (3)
            own.append(replace(attribute, name=name, type=type_))
        elif attribute.name not in (ROW_POSITION, DELETED, *HIDDEN_NUMBERS):  # (2)
            own.append(attribute)
    return tuple(own)
