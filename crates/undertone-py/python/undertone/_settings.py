"""Keyword arguments as a config: the same settings that the command's files have."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Mapping, Sequence

from ._undertone import Config, Loss

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
    """The config of one learner on its own; `settings` overrides any key of it by its path."""
    if isinstance(features, str):
        raise TypeError("features: give their number, or a list of names")
    count = int(features) if isinstance(features, Integral) else len(features)
    model, smoothness = _model(loss, classes, label_bound, feature_norm)
    model["ridge"] = ridge
    if not isinstance(loss, Loss):
        model["clip"] = clip
    elif clip is not None:
        raise TypeError("clip: a loss of your own has gradient_norm instead")
    model["features"] = count + int(intercept)
    if warmup is None:
        # Before a window is full its records weigh more, and would pay more than all later ones.
        warmup = (window - 1) * batch
    config: dict[str, Any] = {
        "name": "python",
        "method": "shielded",
        "rounds": rounds if rounds is not None else 1000,
        "network": {"learners": 1, "topology": "alone"},
        "data": {
            "source": "python",
            "partition": "iid",
            "classes": None if classes is None else [str(label) for label in classes],
            "intercept": intercept,
            "normalise": normalise,
            "batch": batch,
            "warmup": warmup,
        },
        "bounds": {
            "feature_norm": feature_norm,
            "label": None if classes is not None else label_bound,
            "out_of_bounds": "scale",
        },
        "model": model,
        "parameters": {"set": "ball", "radius": radius},
        "memory": {"kind": "window", "window": window},
        "schedule": {
            # Where it is 0 a bound is, which is named with all other faults.
            "step": step if step is not None else 4.0 / (smoothness or 1.0),
            "step_exponent": step_exponent,
            "coupling": 1.0,
            "coupling_exponent": 0.0,
        },
        "noise": {
            "kind": "gaussian",
            "exponent": 0.0,
            "calibrate": "lifetime" if rounds is None else "rounds",
        },
        "privacy": {"epsilon": epsilon, "delta": delta},
    }
    for path, value in (settings or {}).items():
        _set(config, path, value)
    return Config(config)


def _model(
    loss: str | Loss | None,
    classes: Sequence[Any] | None,
    label_bound: float | None,
    feature_norm: float,
) -> tuple[dict[str, Any], float]:
    """The section `model`, and how smooth its loss is."""
    square = feature_norm * feature_norm
    if isinstance(loss, Loss):
        if classes is not None:
            raise TypeError("classes: a loss of your own takes labels as numbers, within label_bound")
        model = {
            "loss": "declared",
            "parameters": loss.parameters,
            "clip": loss.gradient_norm,
            "smoothness": loss.smoothness,
            "strong_convexity": loss.strong_convexity,
            "gradient_spread": loss.gradient_spread,
        }
        return model, loss.smoothness or 4.0 * loss.gradient_norm
    if loss is None:
        if classes is None:
            loss = "huber"
        else:
            loss = "logistic" if len(classes) == 2 else "softmax"
    model = {"loss": loss}
    if loss == "huber":
        model["threshold"] = label_bound
    if loss == "softmax":
        model["classes"] = None if classes is None else len(classes)
    return model, {"logistic": 0.25, "softmax": 0.5}.get(loss, 1.0) * square


def _set(config: dict[str, Any], path: str, value: Any) -> None:
    *sections, key = path.split(".")
    for section in sections:
        config = config.setdefault(section, {})
    config[key] = value
