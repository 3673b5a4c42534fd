"""Files of one column `x` whose footers state something else, and what is made of them."""

from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rewriting import BINARY, COLUMN_ORDERS, CREATED_BY, rewrite, statistics

from pruning.metadata.store.collecting import collect

OURS = {b"org.apache.spark.version": b"4.3.0"}
Change = Callable[[dict[int, Any]], None]
MAX, MIN, MAX_VALUE, MIN_VALUE = 1, 2, 5, 6


def written(
    path: Path, values: pa.Array, *, keys: Mapping[bytes, bytes] = OURS, change: Change | None = None
) -> Path:
    """A file of the values, its footer changed."""
    table = pa.table({"x": values}).replace_schema_metadata(dict(keys))
    pq.write_table(table, path)
    return path if change is None else rewrite(path, change)


def facts_of(path: Path) -> dict[str, Any]:
    """What block metadata tells of the only column."""
    (facts,) = collect(path, cache=False).to_pylist()[0]["columns"].values()
    return facts


def stating(**fields: tuple[int, Any] | None) -> Change:
    """Statistics fields by number, written `f6=(BINARY, b"")`; None removes one."""

    def change(footer: dict[int, Any]) -> None:
        stated = statistics(footer, column=0)
        for name, value in fields.items():
            number = int(name[1:])
            if value is None:
                stated.pop(number, None)
            else:
                stated[number] = value

    return change


def written_by(name: bytes) -> Change:
    """The footer names another writer."""
    return lambda footer: footer.update({CREATED_BY: (BINARY, name)})


def without_order(footer: dict[int, Any]) -> None:
    """min_value and max_value without a named order."""
    footer.pop(COLUMN_ORDERS)
    stated = statistics(footer, column=0)
    stated.pop(MAX, None)
    stated.pop(MIN, None)


INTS = pa.array([1, 5, None], pa.int32())
FLOATS = pa.array([1.0, 5.0], pa.float64())
OLD = pa.array([date(1200, 1, 1), date(1500, 1, 1)])
