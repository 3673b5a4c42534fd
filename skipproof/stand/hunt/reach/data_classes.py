"""The classes of published pruning bugs by their data."""

from collections.abc import Mapping

from skipproof.stand.hunt.reach import cell_classes, file_classes
from skipproof.stand.hunt.reach.cell_classes import DataClass

DATA_CLASSES: Mapping[str, DataClass] = {
    "NAN": cell_classes.NAN,
    "NOSTATS": file_classes.NOSTATS,
    "BADSTATS": file_classes.BADSTATS,
    "PART": file_classes.PART,
    "NULLS": cell_classes.NULLS,
    "PAGE": file_classes.PAGE,
    "STR": cell_classes.STR,
    "TS": cell_classes.TS,
    "SCHEMA": file_classes.SCHEMA,
    "BLOOM": file_classes.BLOOM,
    "TRUNC": cell_classes.TRUNC,
    "DICT": file_classes.DICT,
    "DECIMAL": cell_classes.DECIMAL,
    "NESTED": file_classes.NESTED,
    "ALLNULL": cell_classes.ALLNULL,
    "EMPTY": file_classes.EMPTY,
    "OVERFLOW": cell_classes.OVERFLOW,
    "NEGZERO": cell_classes.NEGZERO,
    "UINT": cell_classes.UINT,
}
