"""A published model: what it says of the records behind it, and learners that start from it."""

import json
import pickle

import pytest

from undertone import ConfigError, Learner, Network, format_epsilon

OPTIONS = dict(classes=["no", "yes"], epsilon=1.0, delta=1e-3, batch=8, window=4)
DELTAS = [1e-12, 1e-9, 1e-6, 1e-3]


def learner(**options):
    return Learner(["a", "b", "c"], **{**OPTIONS, **options})


def metadata(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length])["__metadata__"]


@pytest.fixture
def model(stream):
    """A model whose records have paid nearly ε = 1 at δ = 1e-3."""
    X, y = stream
    first = learner()
    first.learn_many(X, y)
    return first.public_model


def test_a_start_states_what_its_records_paid_at_the_delta_that_is_asked_for(model, stream):
    X, y = stream
    begun = learner(start=model, delta=1e-9)
    assert model.epsilon < 0.7 * model.get_epsilon(1e-9), "the control: another δ, another ε"
    begun.learn_many(X[:100], y[:100])
    for delta in DELTAS:
        assert begun.get_epsilon(delta) == model.get_epsilon(delta)
        assert begun.public_model.get_epsilon(delta) == model.get_epsilon(delta)
    assert begun.public_model.epsilon == model.get_epsilon(1e-9)
    statement = " ".join(begun.privacy_statement)
    assert f"ε = {format_epsilon(model.get_epsilon(1e-9))} at δ = 1e-9" in statement
    assert format_epsilon(model.epsilon) not in statement.split("It started from a published model")[1]
    own = learner(delta=1e-9)
    own.learn_many(X[:100], y[:100])
    assert own.get_epsilon() < begun.get_epsilon(), "the control: its own records have paid less"
    assert not any("started from" in sentence for sentence in own.privacy_statement)


def test_a_learner_that_pays_more_than_its_start_says_so(model, stream):
    X, y = stream
    begun = learner(start=model, epsilon=8.0)
    begun.learn_many(X, y)
    own = learner(epsilon=8.0)
    own.learn_many(X, y)
    for delta in DELTAS:
        assert begun.get_epsilon(delta) == own.get_epsilon(delta) > model.get_epsilon(delta)


def test_accounts_survive_saving_loading_and_pickling(model, stream, tmp_path):
    X, y = stream
    begun = learner(start=model, delta=1e-9)
    begun.learn_many(X[:500], y[:500])
    accounts, statement = begun.public_model.accounts(), begun.privacy_statement
    assert [account["starts_ago"] for account in accounts["learners"]] == [0, 1]
    copied = pickle.loads(pickle.dumps(begun.public_model))
    assert copied.accounts() == accounts
    begun.save(tmp_path / "learner")
    back = Learner.load(tmp_path / "learner", features=["a", "b", "c"], classes=["no", "yes"])
    assert back.public_model.accounts() == accounts and back.privacy_statement == statement
    again = learner(start=copied)
    assert [account["starts_ago"] for account in again.public_model.accounts()["learners"]] == [0, 1, 2]
    for delta in DELTAS:
        assert copied.get_epsilon(delta) == back.get_epsilon(delta) == model.get_epsilon(delta)


def test_two_kinds_of_noise_are_each_priced_as_their_own(model, stream):
    X, y = stream
    laplace = learner(start=model, epsilon=6.0, settings={"noise.kind": "laplace"})
    laplace.learn_many(X, y)
    alone = learner(epsilon=6.0, settings={"noise.kind": "laplace"})
    alone.learn_many(X, y)
    kinds = [account["noise"] for account in laplace.public_model.accounts()["learners"]]
    assert kinds == ["laplace", "gaussian"]
    for delta in DELTAS:
        assert laplace.get_epsilon(delta) == max(alone.get_epsilon(delta), model.get_epsilon(delta))


@pytest.mark.parametrize(
    "features, options, match",
    [
        (["a", "b", "c"], dict(classes=["yes", "no"]), "classes"),
        (["a", "b", "c"], dict(classes=["no", "maybe"]), "classes"),
        (["a", "c", "b"], {}, "names"),
        (["a", "b", "d"], {}, "names"),
        (3, {}, "names"),
        (["a", "b"], {}, "3 features"),
        (["a", "b", "c", "d"], dict(intercept=False), "3 features"),
        (["a", "b", "c"], dict(classes=["no", "yes", "maybe"]), "classes"),
        (["a", "b", "c"], dict(classes=None, label_bound=1.0), "classes"),
        (["a", "b", "c"], dict(intercept=False), "another order"),
    ],
)
def test_a_model_of_other_classes_or_features_is_no_start(model, features, options, match):
    with pytest.raises(ConfigError, match=match) as caught:
        Learner(features, **{**OPTIONS, **options}, start=model)
    assert isinstance(caught.value, ValueError)
    Learner(["a", "b", "c"], **OPTIONS, start=model)  # the control


def test_a_model_without_names_is_a_start_for_any_names(stream):
    X, y = stream
    nameless = Learner(3, **OPTIONS)
    nameless.learn_many(X[:500], y[:500])
    assert learner(start=nameless.public_model).feature_names == ("a", "b", "c")


def test_a_models_file_says_which_records_paid_most_and_at_which_delta(model, tmp_path):
    path = tmp_path / "model.safetensors"
    begun = learner(start=model, delta=1e-9)
    begun.public_model.save(path)
    said = metadata(path)
    assert float(said["epsilon_spent"]) >= model.get_epsilon(1e-9) > float(said["epsilon_spent"]) - 1e-4
    assert said["delta"] == "1e-9" and said["epsilon_spent_by"] == "learner 0 of the model that it started from"
    assert "one record" in said["unit"]
    accounts = json.loads(said["accounts"])
    assert accounts == begun.public_model.accounts()
    assert accounts["learners"][1]["epsilon"] == model.get_epsilon(1e-9)


def test_the_model_of_a_network_states_the_learner_that_paid_most_with_all_its_draws(stream):
    X, y = stream
    sources = [(X[k::4], y[k::4]) for k in range(4)]
    options = dict(classes=["no", "yes"], graph="complete", delta=1e-6, batch=8, seed=1)
    run = Network(sources, epsilon=8.0, settings={"privacy.epsilon": [0.25, 8.0, 0.25, 0.25]}, **options)
    result = run.run(20, progress=False)
    model = result.public_model
    assert len(model.accounts()["learners"]) == 4
    assert model.epsilon == max(result.epsilon) == result.epsilon[1]
    assert result.epsilon[0] < 0.1 * model.epsilon, "the control: not any learner's"
