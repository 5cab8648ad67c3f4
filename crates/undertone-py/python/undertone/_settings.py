"""Makes a config from keyword arguments, with the same settings as the command's files."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Mapping, Sequence

from ._undertone import Config, Loss, learner_settings

__all__ = ["make_config"]


def make_config(
    features: int | Sequence[str],
    *,
    epsilon: float,
    delta: float,
    classes: Sequence[Any] | None = None,
    label_bound: float | None = None,
    loss: str | Loss | None = None,
    feature_norm: float = 1.0,
    normalise: bool = False,
    intercept: bool = True,
    batch: int = 32,
    window: int = 8,
    warmup: int | None = None,
    radius: float = 20.0,
    ridge: float = 0.0,
    clip: float | None = None,
    step: float | None = None,
    step_exponent: float = 0.4,
    rounds: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Config:
    """The config of one learner without neighbours; `settings` overrides any key by its path."""
    if isinstance(features, str):
        raise TypeError("features: give their number, or a list of names")
    declared = loss if isinstance(loss, Loss) else None
    if declared is not None and clip is not None:
        raise TypeError("clip: a loss of your own has gradient_norm instead")
    if declared is not None and classes is not None:
        raise TypeError("classes: a loss of your own takes labels as numbers, within label_bound")
    config = learner_settings(
        int(features) if isinstance(features, Integral) else len(features),
        epsilon=epsilon,
        delta=delta,
        classes=None if classes is None else [str(label) for label in classes],
        label_bound=label_bound,
        loss=None if declared is not None else loss,
        declared=declared,
        feature_norm=feature_norm,
        normalise=normalise,
        intercept=intercept,
        batch=batch,
        window=window,
        warmup=warmup,
        radius=radius,
        ridge=ridge,
        clip=clip,
        step=step,
        step_exponent=step_exponent,
        rounds=rounds,
    )
    config["name"] = "python"
    config["rounds"] = rounds if rounds is not None else 1000
    config["data"] = {"source": "python", "partition": "iid"}
    for path, value in (settings or {}).items():
        _set(config, path, value)
    return Config(config)


def _set(config: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    for section in sections:
        config = config.setdefault(section, {})
    config[key] = value
