"""For researchers: networks of learners, graphs, losses of your own, and results as data.

    pip install ./crates/undertone-py pandas matplotlib && python examples/python/researcher.py
"""

# %% Five learners on a ring, each with its own distribution, learn one regression.
import numpy as np
import pandas

from undertone import Config, Loss, Network, doctor

rng = np.random.default_rng(0)
truth = np.array([0.6, -0.3, 0.2])


def source(learner: int, count: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(loc=0.2 * np.cos(learner), scale=0.3, size=(count, 3)).clip(-1, 1)
    return X, X @ truth + rng.laplace(scale=0.05, size=count)


sources = [source(learner) for learner in range(5)]
test = source(9)

# %% The same at several budgets. `seed` makes a run repeatable and NOT PRIVATE, which all its output says.
curves = {}
for epsilon in (1.0, 4.0, 16.0):
    network = Network(
        sources, graph="ring", epsilon=epsilon, delta=1e-6, label_bound=2.0, feature_norm=1.5, test=test, seed=1
    )
    result = network.run(50, progress=False)
    curves[epsilon] = result.to_pandas()["test_loss_public"]
    error = np.linalg.norm(result.public_model.values[:3] - truth)
    last = curves[epsilon].iloc[-1]
    print(f"ε = {epsilon}: test loss {last:.4f}, distance to the truth {error:.3f}")
print(pandas.DataFrame(curves).iloc[::10])
result.plot("researcher.png")

# %% A loss of your own. Quantile regression is not smooth, so nothing is declared about its curvature. Its
# gradients are cut to the norm that you give, and the privacy bound depends only on that.
QUANTILE = 0.9


def pinball(theta: np.ndarray, x: np.ndarray, y: float) -> tuple[float, np.ndarray]:
    error = y - theta @ x
    slope = -QUANTILE if error > 0 else 1 - QUANTILE
    return max(QUANTILE * error, (QUANTILE - 1) * error), slope * x


loss = Loss(pinball, parameters=4, gradient_norm=1.5, predict=lambda theta, x: theta @ x)
network = Network(
    sources, graph="complete", loss=loss, epsilon=8.0, delta=1e-6, label_bound=2.0, feature_norm=1.5, step=1.0, batch=16
)
model = network.run(40, progress=False).public_model
X, y = test
print(f"share below the fitted quantile: {np.mean(y < model.predict(X)):.3f}, wanted {QUANTILE}")

# %% A loss with declared L and μ may be used with Algorithm 1 of the paper. The declaration is tested on random
# points, and every privacy statement names it.
square = Loss(
    lambda theta, x, y: (0.5 * (theta @ x - y) ** 2, (theta @ x - y) * x),
    parameters=4, gradient_norm=1.5 * (1.5 * 1.0 + 2.0), smoothness=1.5**2, strong_convexity=0.0,
)
algorithm1 = Network(
    sources, graph="ring", loss=square, epsilon=20.0, delta=1e-6, label_bound=2.0, feature_norm=1.5, radius=1.0,
    ridge=0.05, step=0.1, step_exponent=0.77, coupling=0.5, batch=16, warmup=200,
    settings={
        "method": "algorithm1", "memory.kind": "exact", "memory.window": None,
        "noise.exponent": 0.11, "schedule.coupling_exponent": 0.65, "unproven": True,
    },
)
result = algorithm1.run(30, progress=False)
print(result.summary["declared_by_user"])

# %% What the theorems say about a config, as data.
diagnosis = doctor(Config.preset("paper-mushrooms"))
for finding in diagnosis["findings"]:
    if finding["holds"] is False:
        print(f"{finding['name']}: {finding['found']}; needs {finding['needed']}")

# %% Your own code between rounds: here, stop when the learners' disagreement has halved.
run = Network.from_config("mushrooms", seed=1)
spread = []


class Halved(Exception):
    pass


def watch(rounds: int, row: dict | None) -> None:
    if row is not None:
        spread.append(row["consensus_error"])
        if rounds > 50 and spread[-1] < 0.5 * max(spread):
            raise Halved


try:
    run.run(progress=False, callback=watch)
except Halved:
    print(f"disagreement fell to half of its maximum after {run.rounds_run} rounds")
