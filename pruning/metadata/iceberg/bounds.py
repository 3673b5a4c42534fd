"""The bounds of a field in Iceberg's metadata: decoded, and what is believed of them."""

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind
from pruning.metadata.footers.bounds import decode
from pruning.metadata.footers.chunk_facts import ByteStrings, without
from pruning.metadata.footers.physical_types import (
    BooleanForm,
    BytesForm,
    ColumnStorage,
    DecimalForm,
    Form,
    NumberForm,
)
from pruning.metadata.iceberg.fields import IcebergField
from pruning.metadata.table.ordered import true_lanes, without_crossed
from pruning.metadata.table.schema import arrow_type

# The forms of single values by Iceberg's name of the type, each of another length. A file that was written
# before an int became a long, or a float a double, has values of the shorter form.
_FORMS: dict[str, tuple[Form, ...]] = {
    "boolean": (BooleanForm(),),
    "int": (NumberForm("<i4"),),
    "long": (NumberForm("<i8"), NumberForm("<i4")),
    "float": (NumberForm("<f4"),),
    "double": (NumberForm("<f8"), NumberForm("<f4")),
    "date": (NumberForm("<i4"),),
    "timestamp": (NumberForm("<i8"),),
    "timestamptz": (NumberForm("<i8"),),
    "string": (BytesForm(utf8=True),),
}
_DECIMAL = (DecimalForm(size=None, little=False),)
# Java writes the first of these for bytes that are no UTF-8; the second follows it, in a cut upper bound.
_REPLACEMENTS = "[\ufffd\ufffe]"


def decode_values(texts: ByteStrings, field: IcebergField) -> pa.Array:
    """Return single values of a field in Iceberg's form, as block metadata has bounds.

    NULL stands for what cannot be decoded: another length than the type's, a decimal with too many digits, a
    text that may stand for other bytes, and any UUID or bytes, whose order is not that of Spark for sure.
    """
    bound = arrow_type(field.type)
    forms = _DECIMAL if field.type.kind is Kind.DECIMAL else _FORMS.get(field.stored, ())
    values = pa.nulls(len(texts.sizes), bound)
    for form in forms:
        array, _ = decode(texts, ColumnStorage(type=field.type, form=form))
        values = pc.coalesce(values, array.view(bound))
    if field.type.kind is Kind.STRING:
        replaced = pc.fill_null(pc.match_substring_regex(values, _REPLACEMENTS), False)
        values = without(values, replaced.to_numpy(zero_copy_only=False))
    return values


def believed_bounds(lower: ByteStrings, upper: ByteStrings, field: IcebergField) -> tuple[pa.Array, pa.Array]:
    """Return the least and the greatest value that a field may have in each file; shape (files,).

    Claim     Each value that is neither NULL nor NaN lies between the two, where they are not NULL.
    Premises  Iceberg's specification: a lower bound is at most, and an upper bound at least, each value that
              is neither NULL nor NaN; texts may be cut, and an upper bound that is cut is raised.
    Proof     (1) The bytes decode to the bound in the field's present type.
              (2) A writer that lets NaN into one bound may have compared it with values, so that the other
              bound is no bound: both are dropped.
              (3) Bounds that cross are of no file.
    Unsound   if either is taken for a value that a row has.
    """
    lowest, highest = decode_values(lower, field), decode_values(upper, field)  # (1)
    if field.type.floating:
        nan = true_lanes(pc.is_nan(lowest)) | true_lanes(pc.is_nan(highest))
        lowest, highest = without(lowest, nan), without(highest, nan)  # (2)
    return without_crossed(lowest, highest)  # (3)
