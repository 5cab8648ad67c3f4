"""Algorithm 1 as one would write it in NumPy: rounds a second over the first 300 rounds, n = 112, whole histories."""

import sys
import time

import numpy as np

learners, n, rounds = int(sys.argv[1]), 112, 300
rng = np.random.default_rng(0)
records = rng.uniform(-0.5, 0.5, size=(learners, rounds, n)) * 1.7 / np.sqrt(n)
labels = np.where(records @ rng.normal(size=n) > 0, 1.0, -1.0)
theta = np.zeros((learners, n))
step, coupling, weight, ridge, radius = 0.5, 1.0, 0.25, 0.01, 3.0
begin = time.perf_counter()
for t in range(rounds - 1):
    history, signs = records[:, : t + 1], labels[:, : t + 1]
    margins = signs * (history @ theta[:, :, None])[:, :, 0]
    slopes = -signs / (1.0 + np.exp(margins))
    gradient = (slopes[:, None, :] @ history)[:, 0] / (t + 1) + ridge * theta
    sent = theta + rng.laplace(scale=(t + 1) ** 0.1, size=theta.shape)
    gamma, lam = coupling * (t + 1) ** -0.65, step * (t + 1) ** -0.77
    pull = weight * (np.roll(sent, 1, axis=0) - theta) + weight * (np.roll(sent, -1, axis=0) - theta)
    theta = theta + gamma * pull - lam * gradient
    theta *= np.minimum(1.0, radius / np.maximum(np.linalg.norm(theta, axis=1, keepdims=True), 1e-300))
print((rounds - 1) / (time.perf_counter() - begin))
