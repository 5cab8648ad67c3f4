"""Share of held-out rows that are classified correctly after one pass: accuracy.py WHO DATA ORDER.

No system is tuned: each has the settings of its own documentation, named here.
"""

import sys

import numpy as np
from tables import load

#: Rows given at once to those who take tables.
PART = 1000


def ours(X, y, epsilon=4.0):
    """Batch and window as PrivateClassifier has them by default; what is measured is the model that may be published."""
    from undertone import Learner

    learner = Learner(X.shape[1], classes=[0, 1], epsilon=epsilon, delta=1e-6, intercept=False, batch=32, window=8)
    for start in range(0, len(X), PART):
        learner.learn_many(X[start : start + PART], y[start : start + PART])
    assert learner.get_epsilon() <= epsilon
    return learner.public_model.predict


def without_noise(X, y):
    """The same steps; at this ε the noise is too small to matter, and nothing is private."""
    return ours(X, y, epsilon=1e9)


def river(X, y):
    """The pipeline of River's own introduction."""
    from river.linear_model import LogisticRegression
    from river.preprocessing import StandardScaler

    return one_by_one(StandardScaler() | LogisticRegression(), X, y)


def river_unscaled(X, y):
    from river.linear_model import LogisticRegression

    return one_by_one(LogisticRegression(), X, y)


def one_by_one(model, X, y):
    for row, label in zip(X, y.tolist()):
        model.learn_one(dict(enumerate(row.tolist())), bool(label))
    return lambda rows: [int(model.predict_one(dict(enumerate(row))) or False) for row in rows.tolist()]


def sklearn(X, y):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="log_loss", fit_intercept=False)
    for start in range(0, len(X), PART):
        model.partial_fit(X[start : start + PART], y[start : start + PART], classes=[0, 1])
    return model.predict


def vw(X, y):
    from vowpalwabbit import Workspace

    model = Workspace("--loss_function logistic --noconstant --quiet")
    text = lambda row: "| " + " ".join(f"{k}:{row[k]:.6g}" for k in np.flatnonzero(row))
    for row, label in zip(X, y):
        model.learn(f"{1 if label else -1} {text(row)}")
    return lambda rows: [int(model.predict(text(row)) > 0) for row in rows]


def larger_class(X, y):
    larger = int(y.mean() > 0.5)
    return lambda rows: np.full(len(rows), larger)


def main():
    who, data, order = sys.argv[1:4]
    X, y, X_test, y_test = load(data, int(order))
    predict = globals()[who](X, y)
    print(float(np.mean(np.asarray(predict(X_test)) == y_test)))


main()
