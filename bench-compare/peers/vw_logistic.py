"""Vowpal Wabbit: rows a second of logistic regression on its own binary cache, by its own parser and loop."""

import pathlib
import sys
import tempfile
import time

import numpy as np
from vowpalwabbit import Workspace

features = int(sys.argv[1])
count = max(4000, 2_000_000 // features)
rng = np.random.default_rng(0)
X = rng.normal(size=(count, features)) / np.sqrt(features)
y = np.where(X @ rng.normal(size=features) > 0, 1, -1)
with tempfile.TemporaryDirectory() as folder:
    data, cache = pathlib.Path(folder, "rows"), pathlib.Path(folder, "cache")
    with data.open("w") as out:
        for row, label in zip(X.round(5).tolist(), y):
            out.write(f"{label} | " + " ".join(f"{k}:{v}" for k, v in enumerate(row)) + "\n")
    common = f"--loss_function logistic --cache_file {cache} --quiet --bit_precision 18 -d {data}"
    Workspace(f"{common} -k").finish()

    def seconds(passes):
        begin = time.perf_counter()
        # Its own parser and its own loop run over the cache. Without a holdout every row of every pass is learnt from.
        Workspace(f"{common} --passes {passes} --holdout_off").finish()
        return time.perf_counter() - begin

    # Starting and ending take the same time in both.
    few, many = 2, 22
    print(count * (many - few) / (seconds(many) - seconds(few)))
