"""Estimators for scikit-learn, which must be installed.

They differ from scikit-learn's own estimators where privacy requires it:

- `epsilon` and `delta` have no defaults.
- A record is used once: by `fit`, which learns from all records at once, or by `partial_fit`, which learns from a
  stream, for ever. `partial_fit` after `fit` starts from the published model: give it other records.
- Every `fit` pays: fitting twice, cross-validation and grid searches on the same records cost the sum, and each
  estimator reports only the ε of its own fit.
- Features beyond `feature_norm` are scaled down to it: scale your columns with numbers that do not come from
  the data.
- Parameters left at None are as Rust's `LearnerBuilder` has them; docs/python.md says how to see them.
- A copy (`clone` aside, which learns anew) or a pickle made in the middle of a stream predicts, and learns no
  more: two learners that go on from one state would release the same rounds twice, and each would pay once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._learner import Learner

__all__ = ["PrivateClassifier", "PrivateRegressor"]

#: Rounds of `fit`: each takes a gradient over nearly all records. It is here and not in Rust, as is the warm-up of
#: `_learn_all`, because `fit` is scikit-learn's: a learner in Rust learns from a stream, and never from all records at
#: once.
FIT_ROUNDS = 64


class _Private(BaseEstimator):
    """What classifiers and regressors share."""

    def __init__(
        self,
        *,
        epsilon,
        delta,
        feature_norm=None,
        normalise=None,
        intercept=None,
        batch=None,
        window=None,
        radius=None,
        ridge=None,
        clip=None,
        step=None,
        seed=None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.feature_norm = feature_norm
        self.normalise = normalise
        self.intercept = intercept
        self.batch = batch
        self.window = window
        self.radius = radius
        self.ridge = ridge
        self.clip = clip
        self.step = step
        self.seed = seed

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.seed is None
        return tags

    def __getstate__(self):
        state = dict(super().__getstate__())
        if state.get("_learner") is not None:
            state["_copied"], state["_statement"] = self.public_model_, self.privacy_statement_
            state["_learner"] = None
        return state

    def _options(self) -> dict[str, Any]:
        names = "epsilon delta feature_norm normalise intercept radius ridge clip step seed".split()
        return {name: getattr(self, name) for name in names}

    def _learn_all(self, X: np.ndarray, y: np.ndarray, **kind: Any) -> None:
        """Runs rounds over all records.

        Every round needs a new record. So the warm-up has all records except one for each round.
        """
        self._learner = None
        rounds = max(1, min(FIT_ROUNDS, len(X) - 1))
        learner = Learner(
            X.shape[1],
            batch=1,
            warmup=len(X) - rounds,
            rounds=rounds,
            settings={"memory.kind": "exact", "memory.window": None},
            **kind,
            **self._options(),
        )
        learner.learn_many(X, y)
        self._fitted, self._statement = learner.public_model, learner.privacy_statement

    def _learn_more(self, X: np.ndarray, y: np.ndarray, **kind: Any) -> None:
        if "_copied" in self.__dict__:
            raise RuntimeError(
                "this is a copy, and learns no more: two learners that go on from one state would release the "
                "same rounds twice, and each would pay once"
            )
        if getattr(self, "_learner", None) is None:
            fitted = self.__dict__.get("_fitted")
            self._learner = Learner(
                X.shape[1], batch=self.batch, window=self.window, start=fitted, **kind, **self._options()
            )
        self._learner.learn_many(X, y)

    def _checked(self, *data: Any, **options: Any) -> Any:
        """The result of scikit-learn's validation, without its errors that may contain a value."""
        try:
            return validate_data(self, *data, dtype=np.float64, **options)
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
        # Outside the block above, so that the value is not kept as the context of this error.
        raise ValueError("a value is not a number")

    def _forget(self) -> None:
        for name in ("_learner", "_fitted", "_statement", "_copied", "classes_"):
            self.__dict__.pop(name, None)

    @property
    def epsilon_spent_(self) -> float:
        """The most that any record has paid, as ε at `delta`."""
        return self.public_model_.epsilon

    @property
    def privacy_statement_(self) -> list[str]:
        """The privacy statement, in sentences."""
        check_is_fitted(self, "n_features_in_")
        return self._statement if self._learner is None else self._learner.privacy_statement

    @property
    def public_model_(self) -> Any:
        """The model that may be published; `save` writes it."""
        check_is_fitted(self, "n_features_in_")
        if self._learner is not None:
            return self._learner.public_model
        return self._copied if "_copied" in self.__dict__ else self._fitted

    def _predicted(self, method: str, X: Any) -> np.ndarray:
        check_is_fitted(self, "n_features_in_")
        X = self._checked(X, reset=False)
        return getattr(self.public_model_, method)(X)


class PrivateClassifier(ClassifierMixin, _Private):
    """A linear classifier whose parameters may be published: logistic regression, or softmax.

    >>> import numpy as np
    >>> from undertone.sklearn import PrivateClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2)) / 4
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> classifier = PrivateClassifier(epsilon=2.0, delta=1e-6).fit(X, y)
    >>> classifier.score(X, y) > 0.9
    True
    >>> classifier.epsilon_spent_ <= 2.0
    True
    """

    def fit(self, X: Any, y: Any) -> "PrivateClassifier":
        """Learns from all records at once, and spends the whole budget on them.

        The classes are taken from `y` and count as public.
        """
        X, y = self._checked(X, y)
        check_classification_targets(y)
        self._forget()
        self._set_classes(np.unique(y))
        self._learn_all(X, y, classes=self.classes_.tolist())
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "PrivateClassifier":
        """Learns from more records of a stream. `classes` lists all labels, and is required in the first call."""
        first = "classes_" not in self.__dict__
        X, y = self._checked(X, y, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes: all labels must be named in the first call of partial_fit")
            self._set_classes(np.unique(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError("classes: are not those of the first call")
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise ValueError("y has labels that are not among the classes")
        self._learn_more(X, y, classes=self.classes_.tolist())
        return self

    def _set_classes(self, classes: np.ndarray) -> None:
        if len(classes) < 2:
            raise ValueError("there is only one class, and a classifier needs two")
        self.classes_ = classes

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row, by the published parameters."""
        return np.asarray(self._predicted("predict", X), dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, by the published parameters."""
        return self._predicted("predict_proba", X)


class PrivateRegressor(RegressorMixin, _Private):
    """A linear regression whose parameters may be published, by Huber's loss.

    `label_bound` is a public bound on the absolute value of labels; larger ones are cut to it.

    >>> import numpy as np
    >>> from undertone.sklearn import PrivateRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(4000, 2))
    >>> regressor = PrivateRegressor(epsilon=4.0, delta=1e-6, label_bound=1.0).fit(X, X @ [1.0, -0.5])
    >>> regressor.score(X, X @ [1.0, -0.5]) > 0.8
    True
    """

    def __init__(
        self,
        *,
        epsilon,
        delta,
        label_bound,
        feature_norm=None,
        normalise=None,
        intercept=None,
        batch=None,
        window=None,
        radius=None,
        ridge=None,
        clip=None,
        step=None,
        seed=None,
    ):
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            feature_norm=feature_norm,
            normalise=normalise,
            intercept=intercept,
            batch=batch,
            window=window,
            radius=radius,
            ridge=ridge,
            clip=clip,
            step=step,
            seed=seed,
        )
        self.label_bound = label_bound

    def fit(self, X: Any, y: Any) -> "PrivateRegressor":
        """Learns from all records at once, and spends the whole budget on it."""
        X, y = self._checked(X, y, y_numeric=True)
        self._forget()
        self._learn_all(X, y, label_bound=self.label_bound)
        return self

    def partial_fit(self, X: Any, y: Any) -> "PrivateRegressor":
        """Learns from more records of a stream."""
        first = "_learner" not in self.__dict__
        X, y = self._checked(X, y, reset=first, y_numeric=True)
        self._learn_more(X, y, label_bound=self.label_bound)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The prediction for each row, by the published parameters."""
        return self._predicted("predict", X)
