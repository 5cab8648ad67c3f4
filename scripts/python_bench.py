"""Rows a second of `undertone.Learner` beside River and scikit-learn, in one run: medians of interleaved repetitions.

    pip install ./crates/undertone-py river scikit-learn && python scripts/python_bench.py

Ours draws noise and pays for every step; the others do not. "each row once" learns from the newest batch alone, so
that as many gradients are computed as by the others; "default window" computes each record's gradient eight times.
"""

import statistics
import sys
import time

import numpy as np
from river.linear_model import LogisticRegression
from sklearn.linear_model import SGDClassifier

from undertone import Learner

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
REPETITIONS = 7
BUDGET = dict(classes=[0, 1], epsilon=4.0, delta=1e-6)


def one_by_one(model, rows, labels):
    for x, y in zip(rows, labels):
        model.learn_one(x, y)


def in_parts(learn, X, y, size):
    for start in range(0, len(X), size):
        learn(X[start : start + size], y[start : start + size])


def timed(work):
    start = time.perf_counter()
    work()
    return ROWS / (time.perf_counter() - start)


def compare(title, works):
    rates = {name: [] for name in works}
    for _ in range(REPETITIONS):
        for name, make in works.items():
            rates[name].append(timed(make()))
    base = statistics.median(rates[next(iter(works))])
    print(title)
    for name, found in rates.items():
        median = statistics.median(found)
        spread = f"{min(found):11,.0f} to {max(found):11,.0f}"
        print(f"  {name:45} {median:12,.0f} rows/s ({spread})  {median / base:6.2f} times")


for features in (20, 112):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, features)) / np.sqrt(features)
    y = (X @ rng.normal(size=features) > 0).astype(int)
    names = [f"x{k}" for k in range(features)]
    dicts = [dict(zip(names, row)) for row in X.tolist()]
    labels = y.tolist()

    def ours(**options):
        return Learner(names, **BUDGET, **options)

    compare(
        f"one row at a time, {features} features by name",
        {
            "River LogisticRegression": lambda: lambda m=LogisticRegression(): one_by_one(m, dicts, labels),
            "ours, default window": lambda: lambda m=ours(): one_by_one(m, dicts, labels),
            "ours, each row once": lambda: lambda m=ours(window=1): one_by_one(m, dicts, labels),
            "ours, each row once, a step each row": lambda: lambda m=ours(window=1, batch=1): one_by_one(m, dicts, labels),
        },
    )
    for size in (1, 1000):
        if size == 1 and features > 20:
            continue

        def sgd():
            model = SGDClassifier(loss="log_loss")
            return lambda: in_parts(lambda a, b: model.partial_fit(a, b, classes=[0, 1]), X, y, size)

        def many(**options):
            model = ours(batch=max(size, 32), **options)
            return lambda: in_parts(model.learn_many, X, y, size)

        compare(
            f"tables of {size} row{'s' if size > 1 else ''}, {features} features",
            {
                "scikit-learn SGDClassifier.partial_fit": sgd,
                "ours, default window": many,
                "ours, each row once": lambda: many(window=1),
            },
        )
