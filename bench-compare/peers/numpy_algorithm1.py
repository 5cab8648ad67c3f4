"""Algorithm 1 as a user would write it in NumPy, all learners at once: rounds a second from the first round to the last, n = 112.

    numpy_algorithm1.py LEARNERS ROUNDS logistic|ridge whole|one-by-one|moments

`whole` computes the gradient over the whole history, as the paper defines it; `one-by-one` does so in a
loop over learners, as Algorithm 1 is written. `moments` keeps Σ a aᵀ and Σ b a of each
learner, which for the squared loss say as much: a round then costs the same early and late.

A run too long to wait for is sampled: its rounds are cut into ten stretches, some in the middle of each are run with the
history filled to there, and the mean over stretches is that of the run, since a round's cost grows linearly.
"""

import sys
import time

import numpy as np

LEARNERS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
LOSS, MEMORY = sys.argv[3], sys.argv[4]
N, STRETCHES = 112, 10
STEP, COUPLING, WEIGHT, RIDGE, RADIUS = 0.5, 1.0, 0.25, 0.01, 3.0
rng = np.random.default_rng(0)


class Whole:
    """Every record that has come."""

    def __init__(self, records, labels):
        self.records, self.labels = records, labels

    def gradient(self, theta, t):
        history, labels = self.records[:, : t + 1], self.labels[:, : t + 1]
        scores = (history @ theta[:, :, None])[:, :, 0]
        slopes = scores - labels if LOSS == "ridge" else -labels / (1.0 + np.exp(labels * scores))
        return (slopes[:, None, :] @ history)[:, 0] / (t + 1)


class OneByOne:
    """Every record that has come, one learner after the other."""

    def __init__(self, records, labels):
        self.records, self.labels = records, labels

    def gradient(self, theta, t):
        return np.stack([self.of(learner, theta[learner], t) for learner in range(LEARNERS)])

    def of(self, learner, theta, t):
        history, labels = self.records[learner, : t + 1], self.labels[learner, : t + 1]
        scores = history @ theta
        slopes = scores - labels if LOSS == "ridge" else -labels / (1.0 + np.exp(labels * scores))
        return slopes @ history / (t + 1)


class Moments:
    """What the squared loss needs of them."""

    def __init__(self, records, labels):
        self.records, self.labels = records, labels
        self.squares, self.products = np.zeros((LEARNERS, N, N)), np.zeros((LEARNERS, N))

    def gradient(self, theta, t):
        row, label = self.records[:, t], self.labels[:, t]
        self.squares += row[:, :, None] * row[:, None, :]
        self.products += label[:, None] * row
        return ((self.squares @ theta[:, :, None])[:, :, 0] - self.products) / (t + 1)


def next_theta(theta, gradient, t):
    sent = theta + rng.laplace(scale=(t + 1) ** 0.1, size=theta.shape)
    gamma, lam = COUPLING * (t + 1) ** -0.65, STEP * (t + 1) ** -0.77
    pull = WEIGHT * (np.roll(sent, 1, axis=0) - theta) + WEIGHT * (np.roll(sent, -1, axis=0) - theta)
    theta = theta + gamma * pull - lam * (gradient + RIDGE * theta)
    return theta * np.minimum(1.0, RADIUS / np.maximum(np.linalg.norm(theta, axis=1, keepdims=True), 1e-300))


def seconds(memory, theta, first, count):
    begin = time.perf_counter()
    for t in range(first, first + count):
        theta = next_theta(theta, memory.gradient(theta, t), t)
    return time.perf_counter() - begin, theta


def main():
    records = rng.uniform(-0.5, 0.5, size=(LEARNERS, ROUNDS, N))
    records *= 1.7 / np.sqrt(N)
    labels = np.where(records @ rng.normal(size=N) > 0, 1.0, -1.0)
    memory = {"whole": Whole, "one-by-one": OneByOne, "moments": Moments}[MEMORY](records, labels)
    theta = np.zeros((LEARNERS, N))
    # Some ten seconds, where 10 GB go through gradients in one.
    bytes_of_round = LEARNERS * N * 8 * (4 * N if MEMORY == "moments" else ROUNDS)
    affordable = int(1e11 / bytes_of_round)
    if affordable >= ROUNDS:
        spent, _ = seconds(memory, theta, 0, ROUNDS)
        print(ROUNDS / spent)
        return
    each, means = max(2, affordable // STRETCHES), []
    for stretch in range(STRETCHES):
        middle = (2 * stretch + 1) * ROUNDS // (2 * STRETCHES) - each // 2
        spent, theta = seconds(memory, theta, middle, each)
        means.append(spent / each)
    print(1.0 / np.mean(means))


main()
