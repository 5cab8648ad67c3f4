"""Keyword arguments as a config: the same settings that the command's files have.

What is left out (None) is as Rust's `LearnerBuilder` has it: there are no defaults here.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, Mapping, Sequence

from ._undertone import Config, Loss, learner_settings

__all__ = ["agreement_settings", "change", "make_config"]


def make_config(
    features: int | Sequence[str],
    *,
    epsilon: float,
    delta: float,
    classes: Sequence[Any] | None = None,
    label_bound: float | None = None,
    loss: str | Loss | None = None,
    feature_norm: float | None = None,
    normalise: bool | None = None,
    intercept: bool | None = None,
    batch: int | None = None,
    window: int | None = None,
    warmup: int | None = None,
    radius: float | None = None,
    ridge: float | None = None,
    clip: float | None = None,
    step: float | None = None,
    step_exponent: float | None = None,
    rounds: int | None = None,
    records_per_person: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Config:
    """The agreement of one learner on its own; `settings` overrides any key of it by its path."""
    described = agreement_settings(
        features,
        epsilon=epsilon,
        delta=delta,
        classes=classes,
        label_bound=label_bound,
        loss=loss,
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
        records_per_person=records_per_person,
    )
    return Config(change(described, settings))


def agreement_settings(
    features: int | Sequence[str],
    *,
    classes: Sequence[Any] | None = None,
    loss: str | Loss | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The agreement as nested dicts, from the keywords of `make_config` but `settings`."""
    if isinstance(features, str):
        raise TypeError("features: give their number, or a list of names")
    declared = loss if isinstance(loss, Loss) else None
    if declared is not None and options.get("clip") is not None:
        raise TypeError("clip: a loss of your own has gradient_norm instead")
    if declared is not None and classes is not None:
        raise TypeError("classes: a loss of your own takes labels as numbers, within label_bound")
    return learner_settings(
        int(features) if isinstance(features, Integral) else len(features),
        classes=None if classes is None else [str(label) for label in classes],
        loss=None if isinstance(loss, Loss) else loss,
        declared=declared,
        **options,
    )


def change(config: dict[str, Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The config with some keys set by their paths."""
    for path, value in (settings or {}).items():
        *sections, key = path.split(".")
        place = config
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
    return config
