"""Values that JSON does not know, as those that it does."""

from typing import Any


def plain(value: Any) -> Any:
    """A numpy number or array, a path or a tuple as Python's own kind."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    raise TypeError(f"{type(value).__name__} has no place in a config")
