"""Changes that a table's protocol, properties or schema forbid are refused in one sentence."""

import json
from typing import Any

import pytest

# The package is in the extra `delta`.
pytest.importorskip("pyroaring")
from pruning.errors import InputError
from pruning.metadata.delta.log_actions import DeltaMetadata, TableProtocol
from pruning.metadata.delta.writer_protocol import RowChange, check_writable, row_conditions

LEGACY = TableProtocol(reader_version=1, writer_version=2)
CHANGES = (RowChange.NONE, RowChange.DELETE, RowChange.UPDATE, RowChange.INSERT)


def metadata_of(*fields: dict[str, Any], **properties: str) -> DeltaMetadata:
    return DeltaMetadata(
        fields={
            "schemaString": json.dumps({"type": "struct", "fields": list(fields)}),
            "configuration": {
                f"delta.{name.replace('__', '.')}": value for name, value in properties.items()
            },
        }
    )


def field(name: str = "x", kind: Any = "long", *, nullable: bool = True, **properties: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": properties}


def refused(metadata: DeltaMetadata, protocol: TableProtocol = LEGACY, **options: Any) -> str:
    """Return the first letters of the changes that are refused, each with one sentence."""
    letters, sentences = "", []
    for change in CHANGES:
        try:
            check_writable("t", protocol, metadata, change, **options)
        except InputError as error:
            sentences.append(str(error))
            letters += (change.name or "")[0]
    assert all(sentence.startswith("t: ") and "\n" not in sentence for sentence in sentences)
    return letters


@pytest.mark.parametrize(
    ("metadata", "letters"),
    [
        (metadata_of(field()), ""),
        (metadata_of(field(), appendOnly="true"), "DU"),
        (metadata_of(field(), appendOnly="false"), ""),
        (metadata_of(field(), enableChangeDataFeed="TRUE"), "DU"),
        (metadata_of(field(), constraints__positive="x > 0"), "UI"),
        (metadata_of(field(**{"delta.invariants": '{"expression":{"expression":"x > 1"}}'})), "UI"),
        (metadata_of(field(**{"delta.generationExpression": "y + 1"})), "UI"),
        (metadata_of(field(**{"delta.identity.start": 1})), "UI"),
        (metadata_of(field(CURRENT_DEFAULT="1")), "I"),
        (metadata_of(field(nullable=False)), "UI"),
        (metadata_of(field(kind={"type": "array", "elementType": "long", "containsNull": False})), "UI"),
        (metadata_of(field(kind={"type": "array", "elementType": "variant", "containsNull": True})), "NDUI"),
        (metadata_of(field(kind="variant")), "NDUI"),
    ],
)
def test_changes_are_refused_by_properties_and_schema(metadata: DeltaMetadata, letters: str) -> None:
    """N, D, U and I stand for no change of rows, DELETE, UPDATE and INSERT."""
    assert refused(metadata) == letters


@pytest.mark.parametrize(
    ("protocol", "is_refused"),
    [
        (TableProtocol(reader_version=2, writer_version=6), False),
        (TableProtocol(reader_version=4, writer_version=7), True),
        (TableProtocol(reader_version=1, writer_version=8), True),
        *(
            (
                TableProtocol(
                    reader_version=1, writer_version=7, writer_features=frozenset({"invariants", feature})
                ),
                feature in ("rowTracking", "clustering", "icebergCompatV1", "catalogManaged", "of tomorrow"),
            )
            for feature in (
                "rowTracking", "clustering", "icebergCompatV1", "catalogManaged", "of tomorrow",
                "inCommitTimestamp", "domainMetadata", "variantType", "v2Checkpoint",
            )
        ),
        (
            TableProtocol(
                reader_version=3,
                writer_version=7,
                reader_features=frozenset({"of tomorrow"}),
                writer_features=frozenset(),
            ),
            True,
        ),
    ],
)  # fmt: skip
def test_a_protocol_that_is_not_known_is_refused(protocol: TableProtocol, is_refused: bool) -> None:
    assert refused(metadata_of(field()), protocol) == ("NDUI" if is_refused else "")


def test_conditions_that_were_checked_allow_new_rows() -> None:
    """They are SQL, for whoever makes the rows."""
    struct = {"type": "struct", "fields": [field("a`b", nullable=False)]}
    metadata = metadata_of(
        field("s", struct),
        field(nullable=False, **{"delta.generationExpression": "y + 1"}),
        constraints__positive="x > 0",
    )
    conditions = row_conditions("t", metadata)
    assert conditions == (
        "x > 0",
        "`x` <=> (y + 1)",
        "`s` IS NULL OR `s`.`a``b` IS NOT NULL",
        "`x` IS NOT NULL",
    )
    assert refused(metadata, checked=frozenset(conditions)) == ""
    assert refused(metadata, checked=frozenset(conditions[1:])) == "UI"
    inside = {"type": "map", "keyType": "string", "valueType": struct, "valueContainsNull": True}
    with pytest.raises(InputError, match="column `m` forbids NULL inside arrays or maps"):
        row_conditions("t", metadata_of(field("m", inside)))
