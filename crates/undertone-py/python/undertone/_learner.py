"""One learner on its own stream, with the interface of River's models."""

from __future__ import annotations

import os
from numbers import Integral
from typing import Any, Mapping, Sequence

import numpy as np

from . import _undertone
from ._arrays import as_labels, as_matrix, as_persons, from_numbers
from ._settings import make_config
from ._undertone import Config, Loss, PublicModel

__all__ = ["Learner"]


class Learner(_undertone.Learner):
    """A learner that makes a private step with every full batch of its stream.

    Its public model may be published at a privacy cost that is bounded for ever, however long the stream is:
    ε = `epsilon` at δ = `delta` for each record. Neither has a default.

    >>> from undertone import Learner
    >>> learner = Learner(["age", "hours"], classes=["no", "yes"], epsilon=4.0, delta=1e-6, batch=8, window=4)
    >>> for k in range(400):
    ...     older = k % 2
    ...     learner.learn_one({"age": 0.2 + 0.6 * older, "hours": 0.4}, "yes" if older else "no")
    >>> learner.predict_one({"age": 0.9, "hours": 0.4})
    'yes'
    >>> learner.get_epsilon() <= 4.0
    True

    Parameters
    ----------
    features : their number, or their names. Fixed, because the number of parameters is public.
    epsilon, delta : the budget of a record, for ever; or for `rounds` rounds, if these are given.
    classes : the labels, in order. Two are told apart by logistic regression, more by softmax.
    label_bound : without classes, labels are numbers up to this, fitted by Huber's loss. Without either, labels are
        the classes 0 and 1.
    loss : another loss by name (``"ridge"``, ``"huber"``, ``"logistic"``, …), or a :class:`Loss` of your own.
    feature_norm : a public bound on the Euclidean norm of a record, intercept included. Longer records are
        scaled down to it; with `normalise` all records are scaled to it.
    batch, window : records for each step, and how many of the last batches a step learns from. More records
        mean less noise in each step, and fewer or slower steps.
    warmup : records that are collected before the first step, by default ``(window - 1) * batch``.
    radius, ridge, clip, step, step_exponent : of the learning; see docs/config.md. What is left out is as Rust's
        ``LearnerBuilder`` has it; ``learner.config.to_toml()`` shows it.
    records_per_person : how many records of one person are ever used. The budget is then that of a person, and each
        record must say whose it is (`person` and `persons` below).
    settings : any other setting of a config by its path, such as ``{"noise.kind": "laplace"}``.
    start : a public model to go on from. Its records have paid for it; those that come now must be others, of other
        persons where the budget is that of a person.
    config : a whole :class:`Config` of one learner instead of all these: an agreement, or that of an experiment.
    seed : makes noise repeatable, for tests and experiments. **NOT PRIVATE**.
    """

    def __new__(
        cls,
        features: int | Sequence[str] | None = None,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        classes: Sequence[Any] | None = None,
        loss: str | Loss | None = None,
        config: Config | None = None,
        start: PublicModel | None = None,
        seed: int | None = None,
        **options: Any,
    ) -> "Learner":
        names = None if features is None or isinstance(features, (Integral, str)) else list(features)
        if config is None:
            if features is None or epsilon is None or delta is None:
                raise TypeError("Learner needs features, epsilon and delta, which have no defaults")
            config = make_config(
                features, epsilon=epsilon, delta=delta, classes=classes, loss=loss, **options
            )
        elif epsilon is not None or delta is not None or options:
            raise TypeError("a config has all settings: change it with config.replace")
        own = loss if isinstance(loss, Loss) else None
        labels = None if classes is None else list(classes)
        return super().__new__(cls, config, names, labels, own, seed, start)

    def learn_many(self, X: Any, y: Any, persons: Any = None) -> None:
        """Takes the rows of a table, in order: an array, a pandas or polars frame, an Arrow table.

        Takes all rows, or none if one does not fit; the error names the row. `persons` says whose each row is, by a
        text or a whole number, where ``privacy.unit`` is ``"person"``; only hashes of them are kept.
        """
        self._learn_rows(as_matrix(X, self.feature_names), as_labels(y, self.classes), as_persons(persons))

    def predict_many(self, X: Any) -> np.ndarray:
        """The result of `predict_one` for each row."""
        return from_numbers(self._predict_rows(as_matrix(X, self.feature_names)), self.classes)

    def predict_proba_many(self, X: Any) -> np.ndarray:
        """The probability of each class for each row, with classes in order."""
        return self._predict_proba_rows(as_matrix(X, self.feature_names))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        features: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        loss: Loss | None = None,
        seed: int | None = None,
    ) -> "Learner":
        """Takes over the learner that `save` moved into a file, and deletes the file.

        The file does not contain names of features and classes, a loss or a seed; pass them as before.
        """
        names = None if features is None else list(features)
        labels = None if classes is None else list(classes)
        return super().__new__(cls, None, names, labels, loss, seed, None, path)
