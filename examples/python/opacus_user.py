"""For people who know Opacus: accountants, targets and budgets, here with a bound that holds for ever.

    pip install ./crates/undertone-py && python examples/python/opacus_user.py
"""

# %% In Opacus you ask for a noise multiplier that reaches a target ε after a number of epochs. Here you ask for
# the noise that never exceeds a target, however long learning continues.
import numpy as np

import undertone
from undertone import Accountant, BudgetError, Learner, format_epsilon

config = Accountant.plan("mushrooms", target_epsilon=2.0, delta=1e-6)
print(f"noise scale {config['noise.scale']:.3f}: ε ≤ {format_epsilon(config.lifetime_epsilon)} for ever")

# %% A target for a number of rounds needs less noise, but learning ends after them.
finite = Accountant.plan("mushrooms", target_epsilon=2.0, delta=1e-6, rounds=500)
print(f"noise scale {finite['noise.scale']:.3f}: ε ≤ 2 for 500 rounds")

# %% This is the accountant of every learner. A round takes O(1) time, so long runs are possible.
account = Accountant(config)
account.step(10_000)
print(account)
print(f"zCDP: {format_epsilon(account.zcdp)}; remaining: {account.remaining()}")

# %% What makes ε grow: fewer records than planned, and neighbours that are away.
for title, terms in {
    "as planned": {},
    "no records arrive": {"records": 0},
    "no neighbour is heard": {"weight_heard": 0.0},
}.items():
    account = Accountant(config.replace({"privacy.epsilon": 1000.0}))
    account.step()
    account.step(300, **terms)
    print(f"{title:22} ε = {format_epsilon(account.get_epsilon())} after 300 rounds")

# %% A cap is enforced before the noise is drawn, not reported afterwards.
account = Accountant(finite)
print("would 600 rounds pass the cap?", account.would_exceed(600))
try:
    account.step(600)
except BudgetError as error:
    print("refused:", error)

# %% Per-record clipping, as in DP-SGD: `clip` bounds the slope of a record's loss.
rng = np.random.default_rng(0)
X = rng.normal(size=(5000, 10)) / 4
y = X @ rng.normal(size=10) > 0
learner = Learner(10, classes=[False, True], epsilon=2.0, delta=1e-6, clip=0.5, batch=64)
learner.learn_many(X, y)
print(f"training accuracy {np.mean(learner.predict_many(X) == y):.3f} at ε = {format_epsilon(learner.get_epsilon())}")

# %% Do not take this on trust: print what is claimed and try to break it, on the code that runs.
print(undertone.budget(config)["learners"][0]["lifetime"])
report = undertone.audit(learner.config, seed=1, rounds=learner.rounds)
print("audit passed:", report["passed"])
assert report["passed"]
