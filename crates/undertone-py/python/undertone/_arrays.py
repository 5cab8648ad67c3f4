"""Tables of any kind as the arrays that the compiled part takes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._undertone import RecordError

__all__ = ["as_labels", "as_matrix", "from_numbers"]


def as_matrix(table: Any, names: Sequence[str] | None) -> np.ndarray:
    """Rows of float64: from a pandas or polars frame or an Arrow table by column name, or from an array."""
    columns = getattr(table, "column_names", None) or getattr(table, "columns", None)
    if names is not None and columns is not None:
        missing = [name for name in names if name not in list(columns)]
        if missing:
            raise RecordError(f"there is no column called {missing[0]!r}")
        table = [_column(table, name) for name in names]
        return np.ascontiguousarray(np.column_stack(table), dtype=np.float64)
    if hasattr(table, "to_pandas") and not hasattr(table, "__array__"):
        table = table.to_pandas()
    try:
        matrix = np.ascontiguousarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        # numpy's own words repeat the value, which is private.
        raise RecordError("a feature is not a number") from None
    if matrix.ndim != 2:
        raise RecordError(f"X has {matrix.ndim} dimensions, and a table has 2")
    return matrix


def _column(table: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(table[name], dtype=np.float64)
    except (TypeError, ValueError):
        raise RecordError(f"column {name!r}: a value is not a number") from None




def as_labels(labels: Any, classes: Sequence[Any] | None) -> np.ndarray:
    """Labels as float64, classes by their number."""
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise RecordError(f"y has {array.ndim} dimensions, and labels have 1")
    if classes is None:
        try:
            return np.ascontiguousarray(array, dtype=np.float64)
        except (TypeError, ValueError):
            raise RecordError("a label is not a number") from None
    known = np.asarray(classes)
    if known.dtype.kind in "biuf" and array.dtype.kind in "biuf":
        order = np.argsort(known, kind="stable")
        place = np.searchsorted(known, array, sorter=order)
        number = order[np.minimum(place, len(known) - 1)]
        if not np.array_equal(known[number], array):
            raise RecordError("a label is none of the classes")
        return number.astype(np.float64)
    numbers = {label: number for number, label in enumerate(classes)}
    try:
        found = [numbers[label] for label in array.tolist()]
    except (KeyError, TypeError):
        raise RecordError("a label is none of the classes") from None
    return np.asarray(found, dtype=np.float64)


def from_numbers(numbers: np.ndarray, classes: Sequence[Any] | None) -> np.ndarray:
    """What was predicted, classes by their labels."""
    if classes is None:
        return numbers
    return np.asarray(classes)[numbers.astype(np.intp)]
