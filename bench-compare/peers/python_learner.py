"""Ours from Python: rows a second of Learner.learn_one (rows = 1, by name) or learn_many, each gradient once."""

import sys

import numpy as np
from measure import rate

from undertone import Learner

features, size = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(max(size, 2000), features)) / np.sqrt(features)
y = (X @ rng.normal(size=features) > 0).astype(int)
names = [str(k) for k in range(features)]
model = Learner(names, classes=[0, 1], epsilon=4.0, delta=1e-6, window=1, batch=max(size, 32))
if size == 1:
    rows, labels = [dict(zip(names, row)) for row in X.tolist()], y.tolist()

    def learn():
        for x, label in zip(rows, labels):
            model.learn_one(x, label)

    print(rate(len(rows), learn))
else:
    print(rate(size, lambda: model.learn_many(X[:size], y[:size])))
