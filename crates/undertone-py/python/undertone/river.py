"""Models for River's pipelines and metrics, which must be installed.

River discovers names of features in the stream; here they are fixed beforehand, because their number is public.
Earlier steps of a pipeline that learn from data (for example a `StandardScaler`) see records without noise, and the
account does not cover them: use steps that do not learn from data, and public bounds.
"""

from __future__ import annotations

from typing import Any

from river import base

from ._learner import Learner

__all__ = ["PrivateClassifier", "PrivateRegressor"]


class _Private(base.Estimator):
    """Holds a learner."""

    def __init__(self, **options: Any):
        self._options = options
        self.learner = Learner(**options)

    def _get_params(self) -> dict[str, Any]:
        return dict(self._options)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Any:
        """A new learner with the same settings. What was learnt is not copied."""
        return type(self)(**{**self._options, **(new_params or {})})

    def learn_one(self, x: dict, y: Any, person: Any = None) -> None:
        """Takes one record, of a person if one is given. With every full batch the learner makes a step."""
        self.learner.learn_one(x, y, person)


class PrivateClassifier(_Private, base.Classifier):
    """A private classifier; options are those of :class:`undertone.Learner`.

    >>> from river import datasets, evaluate, metrics
    >>> from undertone.river import PrivateClassifier
    >>> data = datasets.Phishing()
    >>> names = [name for name in next(iter(data))[0]]
    >>> model = PrivateClassifier(
    ...     features=names, classes=[False, True], epsilon=8.0, delta=1e-5, feature_norm=2.0, batch=8
    ... )
    >>> accuracy = evaluate.progressive_val_score(data, model, metrics.Accuracy())
    >>> accuracy.get() > 0.6
    True
    """

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: dict) -> dict:
        """The probability of each class."""
        return self.learner.predict_proba_one(x)

    def predict_one(self, x: dict, **kwargs: Any) -> Any:
        """The most probable class."""
        return self.learner.predict_one(x)


class PrivateRegressor(_Private, base.Regressor):
    """A private regression; options are those of :class:`undertone.Learner`, `label_bound` among them."""

    def predict_one(self, x: dict) -> float:
        """The number that the learner predicts for a record."""
        return self.learner.predict_one(x)
