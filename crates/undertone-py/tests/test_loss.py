"""Losses of the user's own: declared, tried, labelled, and bounded whatever they do."""

import numpy as np
import pytest

import undertone
from undertone import Accountant, ConfigError, DeclarationError, Learner, Loss, Network


def logistic(theta, x, y):
    """Labels are -1 and 1."""
    score = y * (theta @ x)
    slope = -1.0 / (1.0 + np.exp(score))
    return np.log1p(np.exp(-score)), slope * y * x


DECLARED = dict(parameters=4, gradient_norm=1.0, smoothness=0.25, strong_convexity=0.0, gradient_spread=2.0)
OPTIONS = dict(epsilon=8.0, delta=1e-6, label_bound=1.0, batch=8, window=4)


def signs(y):
    return np.where(y == "yes", 1.0, -1.0)


def test_a_loss_of_ones_own_learns_as_the_built_in_one_does(stream):
    X, y = stream
    loss = Loss(logistic, **DECLARED, predict=lambda theta, x: np.sign(theta @ x))
    own = Learner(3, loss=loss, seed=4, step=16.0, **OPTIONS)
    own.learn_many(X[:800], signs(y[:800]))
    ours = Learner(3, classes=["no", "yes"], seed=4, step=16.0, epsilon=8.0, delta=1e-6, batch=8, window=4)
    ours.learn_many(X[:800], y[:800])
    # The declared spread of 2 needs a little more noise than the spread that is proved for the built-in loss.
    np.testing.assert_allclose(own.public_model.values, ours.public_model.values, rtol=0.05)
    assert (own.predict_many(X) == signs(y)).mean() > 0.8


def test_every_statement_says_what_the_user_declares(stream, tmp_path):
    X, y = stream
    loss = Loss(logistic, **DECLARED)
    own = Learner(3, loss=loss, **OPTIONS)
    assert any("declared by user" in sentence for sentence in own.privacy_statement)
    assert "declared by user" in undertone.budget(own.config, rounds=100)["declared_by_user"]
    assert "declared by user" in undertone.doctor(own.config)["declared_by_user"]
    assert "declared by user" in Accountant(own.config).declared_by_user
    own.public_model.save(tmp_path / "model.safetensors")
    assert b"declared by user" in (tmp_path / "model.safetensors").read_bytes()
    network = Network([(X[k::2], signs(y)[k::2]) for k in range(2)], loss=loss, graph="path", seed=1, **OPTIONS)
    result = network.run(5, progress=False)
    assert any("declared by user" in sentence for sentence in result.summary["privacy_statement"])
    assert "declared by user" in result.plot().get_suptitle()
    network.save(tmp_path / "run")
    assert "declared by user" in (tmp_path / "run" / "report.html").read_text()
    ours = Learner(3, classes=[0, 1], epsilon=1.0, delta=1e-6)
    assert "declared" not in str(ours.privacy_statement), "the control"


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(smoothness=0.1), "smoothness"),
        (dict(strong_convexity=0.2), "strong_convexity"),
        (dict(gradient_spread=0.5), "gradient_spread"),
        (dict(gradient_norm=0.4, gradient_spread=None), "gradient_norm"),
    ],
)
def test_false_declarations_are_found(change, message):
    with pytest.raises(DeclarationError, match=message):
        Learner(3, loss=Loss(logistic, **{**DECLARED, **change}), **OPTIONS)


def test_a_wrong_gradient_is_found():
    wrong = Loss(lambda theta, x, y: (logistic(theta, x, y)[0], 2 * logistic(theta, x, y)[1]), parameters=4, gradient_norm=2.0)
    with pytest.raises(DeclarationError, match="not that of the loss"):
        Learner(3, loss=wrong, **OPTIONS)


def test_without_l_and_mu_gradients_are_cut_whatever_the_function_does(stream):
    X, y = stream
    steep = Loss(lambda theta, x, y: (100 * logistic(theta, x, y)[0], 100 * logistic(theta, x, y)[1]), parameters=4, gradient_norm=0.5)
    own = Learner(3, loss=steep, seed=1, **OPTIONS)
    own.learn_many(X[:200], signs(y[:200]))
    assert own.get_epsilon() <= 8.0
    assert "cut to norm 0.5" in str(own.privacy_statement)
    with pytest.raises(ConfigError, match="certificate|smooth|Assumption"):
        Learner(3, loss=steep, settings={"method": "algorithm1", "memory.kind": "exact", "memory.window": None}, **OPTIONS)


def test_what_the_function_raises_comes_through_and_ends_the_learner(stream, tmp_path):
    X, y = stream
    calls = 0

    def fails(theta, x, y):
        nonlocal calls
        calls += 1
        if calls > 3000:
            raise ZeroDivisionError("mine")
        return logistic(theta, x, y)

    own = Learner(3, loss=Loss(fails, parameters=4, gradient_norm=1.0), **OPTIONS)
    with pytest.raises(ZeroDivisionError, match="mine"):
        own.learn_many(X, signs(y))
    with pytest.raises(DeclarationError, match="failed"):
        own.learn_one(X[0], 1.0)
    assert own.get_epsilon() <= 8.0
    with pytest.raises(DeclarationError, match="failed"):
        own.save(tmp_path / "learner")
    assert not (tmp_path / "learner").exists(), "what is half computed is never released"


def test_predictions_need_a_way_to_predict_and_fail_aloud(stream):
    X, y = stream
    silent = Learner(3, loss=Loss(logistic, parameters=4, gradient_norm=1.0), **OPTIONS)
    with pytest.raises(TypeError, match="predict"):
        silent.predict_one(X[0])
    broken = Learner(3, loss=Loss(logistic, parameters=4, gradient_norm=1.0, predict=lambda theta, x: 1 / 0), **OPTIONS)
    for predict in (broken.predict_one, broken.public_model.predict_one):
        with pytest.raises(ZeroDivisionError):
            predict(X[0])
    broken.learn_many(X[:100], signs(y[:100]))


def test_a_ridge_needs_to_know_how_smooth_the_loss_is():
    with pytest.raises(ConfigError, match="ridge"):
        Learner(3, loss=Loss(logistic, parameters=4, gradient_norm=1.0), ridge=0.1, **OPTIONS)


def test_a_gradient_of_another_length_is_refused():
    with pytest.raises(TypeError, match="2 entries"):
        Learner(3, loss=Loss(lambda theta, x, y: (0.0, [0.0, 0.0]), parameters=4, gradient_norm=1.0), **OPTIONS)


def test_the_command_says_that_it_has_no_function(command, tmp_path):
    import subprocess

    path = tmp_path / "own.toml"
    path.write_text(Learner(3, loss=Loss(logistic, **DECLARED), **OPTIONS).config.to_toml())
    said = subprocess.run([command, "budget", str(path), "--rounds", "100"], capture_output=True, text=True)
    assert said.returncode == 0 and "declared by user" in said.stdout
    said = subprocess.run([command, "simulate", str(path)], capture_output=True, text=True)
    assert said.returncode == 2
