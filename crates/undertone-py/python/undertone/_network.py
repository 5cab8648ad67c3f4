"""A network of learners in this process, for experiments."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import _undertone
from ._arrays import as_labels, as_matrix, column_names
from ._settings import agreement_settings, change
from ._undertone import BudgetError, Config, Loss, PublicModel

__all__ = ["Network", "Result"]

#: Rounds of a network whose caller does not say how many. It is here and not in Rust because only this class has such
#: a default: an experiment's file must say its rounds, and an agreement has none.
ROUNDS = 1000

#: A callback is told the rounds that are over, and the measurements of the last one if it was measured.
Callback = Callable[[int, "dict[str, Any] | None"], Any]


class Network(_undertone.Network):
    """Learners that learn one model together, each from its own source.

    >>> import numpy as np, undertone
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2)) / 4
    >>> y = np.where(X[:, 0] > X[:, 1], "left", "right")
    >>> sources = [(X[k::3], y[k::3]) for k in range(3)]
    >>> network = undertone.Network(sources, graph="complete", classes=["left", "right"], epsilon=4.0, delta=1e-6)
    >>> result = network.run(20, progress=False)
    >>> result.public_model.predict_one([0.5, -0.5])
    'left'
    >>> max(result.epsilon) <= 4.0
    True

    Parameters
    ----------
    sources : one for each learner: a pair (X, y) of array-likes, a frame or Arrow table whose column `label`
        holds the labels, or an iterator of pairs (x, y), from which only as many are taken as the rounds need.
    graph : ``"ring"``, ``"complete"``, ``"path"``, ``"star"``, a list of edges ``[(0, 1), ...]``, or a
        networkx graph of the nodes 0, 1, …
    weight : of every edge; by default Metropolis weights.
    label : the name of the label column, for frames and tables.
    features : names of columns; by default all but the label.
    test : records that no learner sees, as (X, y) or a frame, to measure with.
    coupling : how strongly learners are drawn to what they hear.
    rounds : how many rounds are planned; noise is then meant for these and not for ever.
    seed : makes noise and order repeatable. **NOT PRIVATE**.
    Others as for :class:`Learner`.
    """

    def __new__(
        cls,
        sources: Sequence[Any],
        *,
        epsilon: float | Sequence[float],
        delta: float,
        graph: Any = "ring",
        weight: float | None = None,
        label: str | None = None,
        features: int | Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
        test: Any = None,
        loss: str | Loss | None = None,
        coupling: float | None = None,
        rounds: int | None = None,
        seed: int | None = None,
        settings: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Network":
        sources = list(sources)
        features, waiting = _features(sources, features, label)
        names = None if isinstance(features, Integral) else list(features)
        described = agreement_settings(
            features, epsilon=epsilon, delta=delta, classes=classes, loss=loss, rounds=rounds, **options
        )
        # Learners in this process are an experiment: their records are here, and their rounds are planned.
        described["name"] = "python"
        described["rounds"] = ROUNDS if rounds is None else rounds
        described["data"] = {"source": "python", "partition": "iid"}
        change(described, _graph(graph, len(sources), weight))
        change(described, {} if coupling is None else {"schedule.coupling": coupling})
        config = Config(change(described, settings))
        labels = None if classes is None else list(classes)
        arrays = [_arrays(source, names, label, labels, features) for source in waiting]
        if isinstance(test, Iterator):
            raise TypeError("test: give arrays, a frame or a table")
        held_out = None if test is None else _arrays(test, names, label, labels, features)
        own = loss if isinstance(loss, Loss) else None
        network = super().__new__(cls, config, names, labels, arrays, held_out, own, seed)
        network._streams = [source if isinstance(source, Iterator) else None for source in waiting]
        network._names, network._labels = names, labels
        return network

    @classmethod
    def from_config(cls, config: Any, *, seed: int | None = None) -> "Network":
        """The learners of a config on the config's own data: what ``undertone simulate`` runs."""
        if not isinstance(config, Config):
            config = _as_config(config)
        network = super().__new__(cls, config, seed=seed)
        network._streams = [None] * network.learners
        network._names, network._labels = None, None
        return network

    def run(
        self,
        rounds: int | None = None,
        *,
        progress: bool = True,
        callback: Callback | None = None,
    ) -> "Result":
        """Runs rounds, by default all that the config has left, and returns the result so far.

        May be called again to continue. `callback(rounds_run, measurements)` is called after each round; an
        exception in it stops the run between two rounds, and so does Ctrl-C. Raises :class:`BudgetError` if a
        cap stops the run before its first round; a cap that is reached later ends the run early (`ended`).
        """
        left = self.config["rounds"] - self.rounds_run
        rounds = left if rounds is None else rounds
        if rounds > left:
            raise ValueError(f"rounds = {rounds}: the config has {left} left; settings={{'rounds': ...}} gives it more")
        for learner, stream in enumerate(self._streams):
            if stream is not None:
                self._pull(learner, stream, rounds)
        line = _Progress(self.rounds_run + rounds, progress)
        if callback is None and not line.shown:
            done, _ = self._run(rounds)
        else:
            done = self._run_slowly(rounds, line, callback)
        if done == 0 and rounds > 0 and self.ended == "budget-exhausted":
            raise BudgetError(self._refusal())
        return Result(self)

    def _run_slowly(self, rounds: int, line: "_Progress", callback: Callback | None) -> int:
        """Runs one round at a time, so that a callback can inspect the network."""
        try:
            for done in range(rounds):
                ran, row = self._run(1)
                if ran == 0 or self.ended == "budget-exhausted":
                    return done
                line.show(self.rounds_run, row)
                if callback is not None:
                    callback(self.rounds_run, row)
        finally:
            line.close()
        return rounds

    def _pull(self, learner: int, stream: Iterator[Any], rounds: int) -> None:
        pairs = list(itertools.islice(stream, self._records_wanted(learner, rounds)))
        if not pairs:
            return
        rows = [_row(x, self._names) for x, _ in pairs]
        labels = as_labels([y for _, y in pairs], self._labels)
        self._feed(learner, as_matrix(rows, None), labels)


class Result:
    """The result of a run so far."""

    def __init__(self, network: Network):
        self.public_model: PublicModel = network.public_model
        # What the most used record of each learner has paid.
        self.epsilon: list[float] = network.get_epsilon()
        self.rounds_run: int = network.rounds_run
        self.ended: str | None = network.ended
        self.summary: dict[str, Any] = network.summary()
        self._rows: list[dict[str, Any]] = network._rows()

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """The measured rounds as numpy columns: those of `rounds.csv` (docs/config.md).

        What was not measured is NaN. `epsilon`, `pure_epsilon` and `noise_scale` have a column for each learner.
        """
        if not self._rows:
            return {}
        return {key: np.asarray([row[key] for row in self._rows], dtype=float) for key in self._rows[0]}

    def to_pandas(self) -> Any:
        """The measured rounds as a pandas frame, indexed by round.

        `epsilon`, `pure_epsilon` and `noise_scale` are the largest of any learner.
        """
        import pandas

        columns = {
            name: values.max(axis=1) if values.ndim == 2 else values for name, values in self.columns.items()
        }
        return pandas.DataFrame(columns).set_index("round") if columns else pandas.DataFrame()

    def plot(self, path: Any = None) -> Any:
        """Plots loss, accuracy and budget by round with matplotlib. Returns the figure; saves it to `path`."""
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise ImportError("plot needs matplotlib: pip install matplotlib") from None
        columns = self.columns
        if not columns:
            raise ValueError("nothing was measured yet")
        known = [name for name in _CURVES if np.isfinite(columns[name]).any()]
        figure = Figure(figsize=(9, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name in known:
            left.plot(columns["round"], columns[name], label=_CURVES[name])
        left.set(xlabel="round", ylim=(0, None))
        left.legend()
        right.plot(columns["round"], columns["epsilon"].max(axis=1), label="spent, at most")
        learners = self.summary["learners"]
        lifetime = [learner["lifetime"]["epsilon"] for learner in learners]
        caps = [learner["cap_epsilon"] for learner in learners]
        if all(bound is not None for bound in lifetime):
            # Noise chosen for some rounds costs more for ever than the cap allows, and the cap ends the run.
            capped = all(cap is not None for cap in caps) and max(lifetime) > max(caps) * (1 + 1e-9)
            here = any(learner["lifetime"]["from_here"] for learner in learners)
            label = "for ever from here" if here else "for ever"
            bound, label = (max(caps), "cap") if capped else (max(lifetime), label)
            right.axhline(bound, linestyle="--", color="gray", label=label)
        right.set(xlabel="round", ylabel=f"ε at δ = {self.summary['learners'][0]['delta']:g}", ylim=(0, None))
        right.legend()
        title = [self.summary["name"]]
        if not self.summary["private"]:
            title.append("NOT PRIVATE (seeded)")
        if self.summary["labels_public"]:
            title.append("labels public")
        if self.summary["unproven"]:
            title.append("UNPROVEN")
        if self.summary["declared_by_user"]:
            title.append("loss declared by user")
        figure.suptitle(", ".join(title))
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure

    def __repr__(self) -> str:
        return f"Result(rounds_run={self.rounds_run}, epsilon={_undertone.format_epsilon(max(self.epsilon))}, ended={self.ended!r})"


_CURVES = {
    "prequential_loss": "loss before learning",
    "prequential_accuracy": "accuracy before learning",
    "test_accuracy_public": "test accuracy, public model",
    "test_accuracy_optimum": "test accuracy, no privacy",
    "test_loss_public": "test loss, public model",
}


def _as_config(source: Any) -> Config:
    if isinstance(source, Mapping):
        return Config(dict(source))
    text = str(source)
    return Config.load(text) if text.endswith(".toml") else Config.preset(text)


def _graph(graph: Any, learners: int, weight: float | None) -> dict[str, Any]:
    chosen: dict[str, Any] = {"network.learners": learners}
    if learners == 1:
        return {**chosen, "network.topology": "alone"}
    if isinstance(graph, str):
        chosen["network.topology"] = graph
    else:
        edges = graph.edges if hasattr(graph, "edges") else graph
        edges = edges() if callable(edges) else edges
        chosen["network.topology"] = "edges"
        chosen["network.edges"] = [[int(edge[0]), int(edge[1])] for edge in edges]
    chosen["network.weights"] = "metropolis" if weight is None else "uniform"
    chosen["network.weight"] = weight
    return chosen


def _is_table(source: Any) -> bool:
    return column_names(source) is not None


def _features(
    sources: list[Any], features: int | Sequence[str] | None, label: str | None
) -> tuple[int | list[str], list[Any]]:
    """The features that all sources have, and the sources, with an iterator's first pair put back."""
    if features is not None:
        return features if isinstance(features, Integral) else [str(name) for name in features], sources
    if not sources:
        raise ValueError("sources: there are none")
    first = sources[0]
    table = first[0] if isinstance(first, tuple) else first
    if _is_table(table):
        return [str(name) for name in column_names(table) if name != label], sources
    if isinstance(first, Iterator):
        pair = next(first, None)
        if pair is None:
            raise ValueError("sources: the first iterator is empty")
        waiting = [itertools.chain([pair], first), *sources[1:]]
        x = pair[0]
        return ([str(name) for name in x] if isinstance(x, Mapping) else len(x)), waiting
    return int(np.asarray(table).shape[1]), sources


def _arrays(
    source: Any,
    names: list[str] | None,
    label: str | None,
    classes: list[Any] | None,
    features: int | list[str],
) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(source, Iterator):
        count = features if isinstance(features, Integral) else len(features)
        return np.empty((0, count)), np.empty(0)
    if isinstance(source, tuple):
        X, y = source
    elif _is_table(source):
        if label is None:
            raise TypeError("label: give the name of the label column")
        X, y = source, source[label]
    else:
        raise TypeError("a source is a pair (X, y), a frame, a table or an iterator of pairs (x, y)")
    return as_matrix(X, names), as_labels(y, classes)


def _row(x: Any, names: list[str] | None) -> list[float]:
    if isinstance(x, Mapping):
        if names is None:
            raise TypeError("features: give their names where records are dicts")
        if set(x) - set(names):
            raise _undertone.RecordError("a record has a feature that is not known")
        return [x.get(name, 0.0) for name in names]
    return list(x)


class _Progress:
    """One line on standard error, if that is a terminal."""

    def __init__(self, total: int, wanted: bool):
        self.total, self.shown, self.line = total, wanted and sys.stderr.isatty(), ""

    def show(self, rounds: int, row: dict[str, Any] | None) -> None:
        if row is None or not self.shown:
            return
        accuracy = row["test_accuracy_public"] or row["prequential_accuracy"]
        parts = [f"round {rounds} of {self.total}"]
        if row["prequential_loss"] is not None:
            parts.append(f"loss {row['prequential_loss']:.3f}")
        if accuracy is not None:
            parts.append(f"accuracy {accuracy:.3f}")
        parts.append(f"ε spent {_undertone.format_epsilon(max(row['epsilon']))}")
        line = "  ".join(parts)
        sys.stderr.write("\r" + line.ljust(len(self.line)))
        sys.stderr.flush()
        self.line = line

    def close(self) -> None:
        if self.line:
            sys.stderr.write("\n")
