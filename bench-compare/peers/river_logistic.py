"""River: rows a second of LogisticRegression.learn_one, features by name."""

import sys

import numpy as np
from measure import rate
from river.linear_model import LogisticRegression

features = int(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.normal(size=(2000, features)) / np.sqrt(features)
y = (X @ rng.normal(size=features) > 0).tolist()
rows = [dict(enumerate(row)) for row in X.tolist()]
model = LogisticRegression()


def learn():
    for x, label in zip(rows, y):
        model.learn_one(x, label)


print(rate(len(rows), learn))
