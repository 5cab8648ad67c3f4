"""Converts tables of any kind to the arrays that the compiled part takes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from ._undertone import RecordError

__all__ = ["as_labels", "as_matrix", "as_persons", "column_names", "from_numbers"]


def column_names(table: Any) -> list[Any] | None:
    """The names of a table's columns; None if it has none."""
    columns = getattr(table, "column_names", None)
    columns = getattr(table, "columns", None) if columns is None else columns
    return None if columns is None else list(columns)


def as_matrix(table: Any, names: Sequence[str] | None) -> np.ndarray:
    """Rows of float64: from a pandas or polars frame or an Arrow table by column name, or from an array."""
    columns = column_names(table)
    if names is not None and columns is not None:
        known = {str(name): name for name in columns}
        missing = [name for name in names if name not in known]
        if missing:
            raise RecordError(f"there is no column called {missing[0]!r}")
        parts = [_floats(table[known[name]], f"column {name!r}: a value") for name in names]
        return np.ascontiguousarray(np.column_stack(parts))
    if columns is not None and not hasattr(table, "__array__"):
        table = table.to_pandas()
    matrix = _floats(table, "a feature")
    if matrix.ndim != 2:
        raise RecordError(f"X has {matrix.ndim} dimensions, and a table has 2")
    return matrix


def _floats(values: Any, what: str) -> np.ndarray:
    """Converts to float64. The error does not contain the value, unlike numpy's own."""
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    # Outside the block above, so that numpy's exception is not kept as the context of this one.
    raise RecordError(f"{what} is not a number")


def as_labels(labels: Any, classes: Sequence[Any] | None) -> np.ndarray:
    """Labels as float64, with classes by number."""
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise RecordError(f"y has {array.ndim} dimensions, and labels have 1")
    if classes is None:
        return _floats(array, "a label")
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
        found = [numbers.get(label) for label in array.tolist()]
    except TypeError:
        found = [None]
    if None in found:
        raise RecordError("a label is none of the classes")
    return np.asarray(found, dtype=np.float64)


def as_persons(persons: Any) -> list[Any] | None:
    """Person keys as texts and whole numbers, from a list, an array or a column; None if there are none."""
    if persons is None:
        return None
    if isinstance(persons, str):
        raise RecordError("persons: give a person key for each row")
    values = persons.to_pylist() if hasattr(persons, "to_pylist") else persons
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    if not isinstance(values, list) or any(isinstance(value, list) for value in values):
        raise RecordError("persons: give a person key for each row")
    return values


def from_numbers(numbers: np.ndarray, classes: Sequence[Any] | None) -> np.ndarray:
    """Predictions, with classes by label."""
    if classes is None:
        return numbers
    return np.asarray(classes)[numbers.astype(np.intp)]
