"""Covertype and Adult as the same arrays for all systems: `load(name, order)`.

The files are those of `undertone data get`, whose numbers are already divided by constants that follow from their
meaning. Categories become one column each. A constant 1 is appended, so that nobody needs an intercept of their own, and
every row is divided by its norm: ours asks for rows of a bounded norm, and this is the bound.
"""

import csv
import os
import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "data"
#: Adult's own test rows are its last ones.
ADULT_TRAIN = 32_561


def covertype():
    """Two classes: lodgepole pine, which is nearly half of all, and the rest."""
    table = np.loadtxt(source("covertype"), delimiter=",", skiprows=1)
    order = np.random.default_rng(0).permutation(len(table))
    features, labels = table[order, :-1], table[order, -1] == 2
    return features, labels, len(table) * 4 // 5


def adult():
    with source("adult").open() as file:
        names, *rows = csv.reader(file)
    columns = []
    for values in list(zip(*rows))[:-1]:
        try:
            columns.append(np.array(values, float))
        except ValueError:
            columns += [np.array([value == one for value in values], float) for one in sorted(set(values))]
    return np.stack(columns, axis=1), np.array([row[-1].startswith(">50K") for row in rows]), ADULT_TRAIN


def source(name):
    os.environ.setdefault("UNDERTONE_CACHE", str(FOLDER))
    import undertone

    return pathlib.Path(undertone.get_data(name)) / f"{name}.csv"


def prepared(name):
    features, labels, train = {"covertype": covertype, "adult": adult}[name]()
    features = np.column_stack([features, np.ones(len(features))])
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return {"features": features, "labels": labels.astype(int), "train": train}


def load(name, order):
    """Training rows in the order of that number, their labels, and test rows with theirs."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        # Aside first: a table that was cut short must not be read.
        aside = FOLDER / f"{name}.new.npz"
        np.savez(aside, **prepared(name))
        aside.replace(path)
    found = np.load(path)
    features, labels, train = found["features"], found["labels"], int(found["train"])
    places = np.random.default_rng(1000 + order).permutation(train)
    return features[places], labels[places], features[train:], labels[train:]
