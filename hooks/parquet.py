"""Columns as Parquet, with the types of the figures: the same rows and columns as the CSV."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Columns = dict[str, list[Any]]

_COUNTS = frozenset(
    ["n", "wanted", "rejected", "failed", "missing", "tier", "repeat", "attempt", "order", "workers"]
)
_FIGURES = frozenset(["median", "low", "high", "band"])


def parquet_bytes(columns: Columns) -> bytes:
    """Columns of equal length as a Parquet file; None is null, and text is as it is.

    Whole numbers are int64, figures float64, truth values bool, all else strings; a column of numbers and
    text is text. The same columns give the same bytes.
    """
    table = pa.table({name: _array(name, values) for name, values in columns.items()})
    output = pa.BufferOutputStream()
    # Statistics and the Arrow schema serve to skip through large files, and cost more than these hold.
    pq.write_table(table, output, write_statistics=False, store_schema=False)
    return bytes(output.getvalue().to_pybytes())


def _array(name: str, values: list[Any]) -> pa.Array:
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if kinds <= {int} and (kinds or name in _COUNTS):
        return pa.array(values, pa.int64())
    if kinds <= {int, float} and (kinds or name in _FIGURES):
        return pa.array(values, pa.float64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if not kinds <= {str}:
        values = [None if value is None else str(value) for value in values]
    return pa.array(values, pa.string())
