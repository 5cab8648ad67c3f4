"""scikit-learn: rows a second of SGDClassifier.partial_fit, so many rows at a time."""

import sys

import numpy as np
from measure import rate
from sklearn.linear_model import SGDClassifier

features, size = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.normal(size=(size, features)) / np.sqrt(features)
y = (X @ rng.normal(size=features) > 0).astype(int)
y[0] = 0
model = SGDClassifier(loss="log_loss")
print(rate(size, lambda: model.partial_fit(X, y, classes=[0, 1])))
