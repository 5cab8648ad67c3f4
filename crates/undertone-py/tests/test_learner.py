"""The learner: what it takes, what it refuses, what it says and what it keeps to itself."""

import copy
import json
import pickle
import stat
import subprocess

import numpy as np
import pytest

import undertone
from undertone import BudgetError, ConfigError, Learner, RecordError

OPTIONS = dict(classes=["no", "yes"], epsilon=4.0, delta=1e-6, batch=8, window=4)


def learner(**options):
    return Learner(["a", "b", "c"], **{**OPTIONS, **options})


def test_a_stream_is_learnt_within_its_budget(stream):
    X, y = stream
    one = learner()
    one.learn_many(X, y)
    assert one.records + one.waiting == len(X)
    assert 0 < one.get_epsilon() <= 4.0
    assert one.get_epsilon(1e-3) < one.get_epsilon(1e-9)
    assert (one.predict_many(X) == y).mean() > 0.85
    assert (one.public_model.predict(X) == y).mean() > 0.85
    assert one.accuracy > 0.75 and one.loss > 0


def test_without_labels_to_learn_from_nothing_is_learnt(stream):
    X, y = stream
    one = learner(seed=1)
    one.learn_many(X, np.random.default_rng(1).permutation(y))
    assert (one.public_model.predict(X) == y).mean() < 0.75, "the control"


def test_rows_one_by_one_and_as_a_table_are_the_same_bit_for_bit(stream):
    X, y = stream
    by_one, by_dict, by_table = (learner(seed=3) for _ in range(3))
    for row, label in zip(X, y):
        by_one.learn_one(list(row), label)
        by_dict.learn_one(dict(zip("abc", row)), label)
    by_table.learn_many(X, y)
    assert by_one.public_model.values.tobytes() == by_table.public_model.values.tobytes()
    assert by_dict.public_model.values.tobytes() == by_table.public_model.values.tobytes()


def test_noise_is_fresh_without_a_seed(stream):
    X, y = stream
    runs = []
    for _ in range(2):
        one = learner()
        one.learn_many(X[:100], y[:100])
        runs.append(one.public_model.values)
    assert (runs[0] != runs[1]).all(), "every coordinate has noise of its own"


def test_a_seed_is_said_to_be_not_private():
    assert "NOT PRIVATE" in learner(seed=1).privacy_statement[0]
    assert not learner(seed=1).public_model.private
    assert "NOT PRIVATE" not in " ".join(learner().privacy_statement)


def test_what_is_missing_is_zero_and_what_is_unknown_is_refused():
    one, other = learner(seed=1), learner(seed=1)
    for k in range(40):
        one.learn_one({"a": 0.5}, "yes" if k % 2 else "no")
        other.learn_one([0.5, 0.0, 0.0], "yes" if k % 2 else "no")
    assert one.public_model.values.tobytes() == other.public_model.values.tobytes()
    with pytest.raises(RecordError, match="not known") as caught:
        one.learn_one({"a": 0.1, "rare-word": 0.5}, "no")
    assert "rare-word" not in str(caught.value)


@pytest.mark.parametrize(
    "x, y, message",
    [
        ([0.1, 0.2], "no", "2 features"),
        ([0.1, 0.2, float("nan")], "no", "not finite"),
        ([0.1, 0.2, 0.3], "perhaps", "none of the classes"),
        ({"a": "0.7391"}, "no", "not a number"),
    ],
)
def test_a_record_that_does_not_fit_is_refused_without_showing_it(x, y, message):
    one = learner()
    with pytest.raises(RecordError, match=message) as caught:
        one.learn_one(x, y)
    assert "0.7391" not in str(caught.value) and "perhaps" not in str(caught.value)
    assert one.waiting == 0


def test_a_bad_row_of_a_table_is_named(stream):
    X, y = stream
    X = X.copy()
    X[5, 1] = np.inf
    one = learner()
    with pytest.raises(RecordError, match="row 5"):
        one.learn_many(X, y)
    assert one.waiting == 0, "all or none"
    with pytest.raises(RecordError, match="not a number") as caught:
        one.learn_many([[0.1, "secret-value", 0.2]], ["no"])
    assert "secret-value" not in str(caught.value) and caught.value.__context__ is None


def test_the_budget_is_a_wall(stream):
    X, y = stream
    one = learner(rounds=5)
    with pytest.raises(BudgetError):
        one.learn_many(X, y)
    assert one.get_epsilon() <= 4.0
    before = one.public_model.values
    with pytest.raises(BudgetError):
        one.learn_one(X[0], y[0])
    assert (one.public_model.values == before).all()
    assert one.predict_one(X[0]) in ("yes", "no"), "what was learnt stays"


def test_privacy_numbers_have_no_defaults():
    with pytest.raises(TypeError, match="no defaults"):
        Learner(3, classes=[0, 1])
    with pytest.raises(ConfigError, match="privacy.epsilon"):
        learner(epsilon=float(0))
    with pytest.raises(ConfigError, match="unknown key"):
        learner(settings={"privacy.epsilonn": 1.0})
    with pytest.raises(ConfigError) as caught:
        learner(batch=0, radius=-1.0, delta=2.0, warmup=0)
    for fault in ("records.batch", "parameters.radius", "privacy.delta"):
        assert fault in str(caught.value), "every fault at once"


def test_a_learner_is_moved_and_never_copied(stream, tmp_path):
    X, y = stream
    whole, moved = learner(seed=5), learner(seed=5)
    whole.learn_many(X[:1001], y[:1001])
    moved.learn_many(X[:333], y[:333])
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(RuntimeError, match="not copied"):
            copier(moved)
    path = tmp_path / "learner"
    moved.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(RuntimeError, match="lives in its file"):
        moved.learn_one(X[0], y[0])
    back = Learner.load(path, features=["a", "b", "c"], classes=["no", "yes"], seed=5)
    assert isinstance(back, Learner) and not path.exists()
    with pytest.raises(OSError):
        Learner.load(path)
    back.learn_many(X[333:1001], y[333:1001])
    assert back.public_model.values.tobytes() == whole.public_model.values.tobytes()
    assert back.get_epsilon() == whole.get_epsilon()
    assert back.accuracy == whole.accuracy


def test_what_is_not_private_stays_so(stream, tmp_path):
    X, y = stream
    seeded = learner(seed=5)
    seeded.learn_many(X[:500], y[:500])
    model = seeded.public_model
    seeded.save(tmp_path / "learner")
    back = Learner.load(tmp_path / "learner", features=["a", "b", "c"], classes=["no", "yes"])
    assert not back.public_model.private and "NOT PRIVATE" in back.privacy_statement[0]
    begun = learner(start=model)
    assert not begun.public_model.private
    assert begun.public_model.epsilon == model.epsilon > 0, "its records have paid for it"
    assert any("started from" in sentence for sentence in begun.privacy_statement)


def test_a_learner_that_cannot_be_loaded_stays_in_its_file(tmp_path):
    path = tmp_path / "learner"
    learner().save(path)
    with pytest.raises(ValueError, match="classes"):
        Learner.load(path, features=["a", "b", "c"], classes=["no", "yes", "perhaps"])
    Learner.load(path, features=["a", "b", "c"], classes=["no", "yes"])


def test_a_forked_copy_does_not_learn(stream):
    import os

    X, y = stream
    one = learner()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            one.learn_one(X[0], y[0])
            os.write(writing, b"learnt")
        except RuntimeError as error:
            os.write(writing, str(error)[:40].encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert b"belongs to the process" in os.read(reading, 100)
    one.learn_one(X[0], y[0])


def test_rows_of_pandas_are_read_by_name():
    import pandas

    one, other = learner(seed=1), learner(seed=1)
    for k in range(40):
        one.learn_one(pandas.Series({"c": 0.1, "a": 0.4, "b": -0.2}), "yes" if k % 2 else "no")
        other.learn_one([0.4, -0.2, 0.1], "yes" if k % 2 else "no")
    assert one.public_model.values.tobytes() == other.public_model.values.tobytes()


def test_classes_cannot_be_turned_round_from_outside():
    one = learner()
    one.classes.reverse()
    assert one.classes == ["no", "yes"]


def test_a_damaged_file_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "learner"
    learner().save(path)
    damaged = bytearray(path.read_bytes())
    damaged[50] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(OSError, match="damaged"):
        Learner.load(path, features=["a", "b", "c"], classes=["no", "yes"])
    assert path.exists()


def test_nothing_private_is_shown(stream):
    X, y = stream
    one = learner()
    one.learn_many(X, y)
    assert "redacted" in repr(one)
    for value in one.private_parameters:
        assert f"{value:.3f}" not in repr(one) and f"{value:.3f}" not in str(one.privacy_statement)


def test_the_public_model_can_be_pickled_and_published(stream, tmp_path):
    X, y = stream
    one = learner()
    one.learn_many(X, y)
    model = one.public_model
    again = pickle.loads(pickle.dumps(model))
    assert again.values.tobytes() == model.values.tobytes()
    assert (again.predict(X) == model.predict(X)).all()
    np.testing.assert_allclose(again.predict_proba(X).sum(axis=1), 1.0)
    model.save(tmp_path / "model.safetensors")
    data = (tmp_path / "model.safetensors").read_bytes()
    assert data.endswith(model.values.tobytes()) and b"safe to publish" in data


def test_three_classes_and_numbers_are_learnt_too():
    rng = np.random.default_rng(2)
    centres = np.array([[0.6, 0.0], [-0.3, 0.5], [-0.3, -0.5]])
    label = rng.integers(0, 3, 4000)
    X = centres[label] + rng.normal(size=(4000, 2)) / 10
    three = Learner(2, classes=[10, 20, 30], epsilon=8.0, delta=1e-6)
    three.learn_many(X, label * 10 + 10)
    assert (three.predict_many(X) == label * 10 + 10).mean() > 0.9
    assert set(three.predict_proba_one(X[0])) == {10, 20, 30}

    number = Learner(2, label_bound=1.0, epsilon=8.0, delta=1e-6)
    number.learn_many(X, X @ [0.8, -0.4])
    assert np.abs(number.predict_many(X) - X @ [0.8, -0.4]).mean() < 0.15
    with pytest.raises(TypeError, match="no probabilities"):
        number.predict_proba_one(X[0])


def test_a_config_from_python_is_the_commands_own(command, tmp_path):
    path = tmp_path / "learner.toml"
    path.write_text(learner().config.to_toml())
    arguments = [command, "budget", str(path), "--rounds", "100", "--json"]
    said = subprocess.run(arguments, capture_output=True, check=True)
    assert undertone.budget(str(path), rounds=100) == json.loads(said.stdout)
    assert undertone.budget(str(path), rounds=99) != json.loads(said.stdout), "the control"
    assert subprocess.run([command, "budget", str(path)], capture_output=True).returncode == 2, "how many rounds?"
