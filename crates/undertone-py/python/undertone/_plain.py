"""Converts values that JSON does not have to those that it has."""

from typing import Any


def plain(value: Any) -> Any:
    """A numpy number or array, or a path, as a plain Python value."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise TypeError(f"{type(value).__name__} has no place in a config")
