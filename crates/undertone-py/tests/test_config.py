"""Configs: an agreement or an experiment, and defaults that exist once, in Rust."""

import inspect
import pathlib

import numpy as np
import pytest

import undertone
from undertone import Accountant, Config, ConfigError, Learner, Network, make_config
from undertone import sklearn as estimators

#: The agreement that Rust's LearnerBuilder gives to a learner of twenty features; a Rust test holds it to that.
FIXTURE = pathlib.Path(__file__).resolve().parents[2] / "undertone" / "tests" / "fixtures" / "default_learner.toml"
PRIVACY = dict(epsilon=2.0, delta=1e-6)

#: Every keyword with a default in Rust, and a value that is not the default.
OTHERS = {
    "classes": ["a", "b", "c"],
    "label_bound": 3.0,
    "loss": "logistic-of-another-kind",
    "feature_norm": 2.0,
    "normalise": True,
    "intercept": False,
    "batch": 33,
    "window": 9,
    "warmup": 50,
    "radius": 19.0,
    "ridge": 0.01,
    "clip": 0.5,
    "step": 1.0,
    "step_exponent": 0.3,
    "rounds": 100,
}


@pytest.fixture
def rust():
    return Config.load(FIXTURE)


def test_what_is_left_out_is_as_rust_has_it(rust):
    ours = make_config(20, **PRIVACY)
    assert ours.to_dict() == rust.to_dict()
    assert ours.to_toml() == rust.to_toml()
    assert ours.network_id == rust.network_id
    names = [f"feature {k}" for k in range(20)]
    for config in (Learner(20, **PRIVACY).config, Learner(names, **PRIVACY).config):
        assert config.to_dict() == rust.to_dict()
    assert Learner(20, **PRIVACY, **dict.fromkeys(OTHERS)).config.to_dict() == rust.to_dict(), "None is left out"


@pytest.mark.parametrize("keyword", [name for name in OTHERS if name != "loss"])
def test_a_keyword_that_is_given_changes_the_agreement(rust, keyword):
    changed = make_config(20, **PRIVACY, **{keyword: OTHERS[keyword]})
    assert changed.to_dict() != rust.to_dict(), "the control"
    assert changed.network_id != rust.network_id, "the control"


def test_a_loss_that_is_given_changes_the_agreement():
    huber = make_config(20, label_bound=3.0, **PRIVACY)
    ridge = make_config(20, label_bound=3.0, loss="ridge", clip=1.0, **PRIVACY)
    assert (huber["model.loss"], ridge["model.loss"]) == ("huber", "ridge")
    assert huber.network_id != ridge.network_id
    with pytest.raises(ConfigError, match="model.loss"):
        make_config(20, loss=OTHERS["loss"], **PRIVACY)


def test_the_list_of_keywords_is_complete():
    given = inspect.signature(make_config).parameters
    assert set(given) - {"features", "epsilon", "delta", "settings"} == set(OTHERS)


@pytest.mark.parametrize("made", [make_config, undertone._undertone.learner_settings, Network.__new__])
def test_no_keyword_has_a_default_of_its_own(made):
    own = {"graph": "ring"}
    for name, parameter in inspect.signature(made).parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            assert parameter.default == own.get(name), name


def test_estimators_have_no_defaults_of_their_own(rust):
    for estimator in (estimators.PrivateClassifier, estimators.PrivateRegressor):
        label = {"label_bound": 1.0} if estimator is estimators.PrivateRegressor else {}
        own = estimator(**PRIVACY, **label).get_params()
        assert all(value is None for name, value in own.items() if name not in {*PRIVACY, *label})
    classifier = estimators.PrivateClassifier(**PRIVACY)
    classifier.partial_fit(np.zeros((2, 20)), [0, 1], classes=[0, 1])
    learnt = classifier._learner.config.to_dict()
    assert learnt["records"].pop("classes") == ["0", "1"]
    assert learnt == rust.to_dict()


def test_a_learner_needs_no_rounds_and_no_data():
    config = Learner(3, **PRIVACY).config
    assert config["rounds"] is None and config["data"] is None
    assert "rounds" not in repr(config)
    account = Accountant(config)
    account.step(10)
    assert 0 < account.get_epsilon() <= 2.0


def test_an_experiment_has_both_and_a_learner_takes_its_agreement():
    alone = Learner(3, **PRIVACY).config
    around = Config({**alone.to_dict(), "rounds": 5, "data": {"source": "none", "partition": "iid"}})
    assert around["rounds"] == 5 and "rounds=5" in repr(around)
    assert Learner(config=around).config.to_dict() == alone.to_dict()
    assert around.network_id == alone.network_id
    with pytest.raises(ConfigError, match="data.source"):
        Config({**alone.to_dict(), "rounds": 5})
    with pytest.raises(ConfigError, match="how many rounds"):
        Config({**alone.to_dict(), "data": {"source": "none", "partition": "iid"}})


def test_what_needs_an_experiment_says_so():
    config = Learner(3, **PRIVACY).config
    with pytest.raises(ConfigError, match="experiment"):
        Network.from_config(config)
    with pytest.raises(ConfigError, match="experiment"):
        undertone.plan(config, target_epsilon=1.0, delta=1e-6)
    with pytest.raises(ConfigError, match="experiment"):
        undertone.audit(config, data=True, rounds=10)
    for asked in (undertone.budget, undertone.audit):
        with pytest.raises(ConfigError, match="how many"):
            asked(config)
    assert undertone.budget(config, rounds=10)["rounds"] == 10
    assert undertone.budget(config.replace({"noise.calibrate": "rounds", "noise.rounds": 7}))["rounds"] == 7
    assert undertone.doctor(config)["rounds"] is None


def test_an_agreement_can_be_audited():
    config = Learner(3, **PRIVACY, batch=4, window=2).config
    assert undertone.audit(config, seed=1, rounds=40)["passed"] is True


def test_an_agreement_is_read_back_from_its_text(tmp_path):
    config = Learner(3, **PRIVACY).config
    path = tmp_path / "agreement.toml"
    path.write_text(config.to_toml())
    again = Config.load(path)
    assert again.network_id == config.network_id
    assert again.noise_scales == config.noise_scales
    assert again.replace({"records.batch": 33}).network_id != config.network_id, "the control"
