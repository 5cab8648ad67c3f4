"""Persons as the unit of privacy."""

import json

import numpy as np
import pytest

from undertone import Accountant, BudgetError, Config, Learner, Network, RecordError, verify

#: A word that is in every key.
SECRET = "XYZZY"
GROUPED = {
    "privacy.unit": "person",
    "privacy.persons_per_round": 2,
    "privacy.persons_warmup": 30,
    "memory.kind": "exact",
    "memory.window": None,
}


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 2)) / 4
    return X, (X[:, 0] > X[:, 1]).astype(int)


def limited(**options):
    return Learner(2, epsilon=4.0, delta=1e-6, records_per_person=2, batch=4, window=4, seed=1, **options)


def test_records_of_a_person_beyond_the_limit_are_left_out_and_counted():
    learner = limited()
    X, y = rows(60)
    for k in range(60):
        learner.learn_one(X[k], y[k], person=f"{SECRET}-{k % 20}")
    assert (learner.records + learner.waiting, learner.left_out, learner.persons) == (40, 20, 20)
    again = limited()
    again.learn_many(X, y, persons=np.array([f"{SECRET}-{k % 20}" for k in range(60)]))
    assert (again.records, again.left_out) == (learner.records, 20)
    assert np.array_equal(again.private_parameters, learner.private_parameters)
    assert "all records of one person" in learner.unit
    assert any("all records of one person" in line for line in learner.privacy_statement)
    assert not any(SECRET in text for text in [repr(learner), *learner.privacy_statement])


def test_the_noise_of_k_records_is_k_times_as_large_and_the_budget_is_kept():
    config = {count: limited_config(count) for count in (1, 3)}
    assert config[3].noise_scales[0] == pytest.approx(3 * config[1].noise_scales[0], rel=1e-6)
    assert config[3].lifetime_epsilon <= 4.0
    single = Learner(2, epsilon=4.0, delta=1e-6).config
    assert config[1].noise_scales[0] == pytest.approx(single.noise_scales[0], rel=1e-9)
    assert config[1].network_id != single.network_id, "the unit is part of the network's id"


def limited_config(count):
    return Learner(2, epsilon=4.0, delta=1e-6, records_per_person=count).config


def test_a_key_is_a_text_or_a_whole_number_and_is_missing_or_superfluous_loudly():
    learner = limited()
    X, y = rows(4)
    for person in (7, np.int64(7), "7", " 7 "):
        learner.learn_one(X[0], y[0], person)
    assert (learner.waiting, learner.left_out) == (2, 2), "all of these are one person"
    for bad in (7.5, True, ["a"], "", "  ", None):
        with pytest.raises(RecordError, match="person"):
            learner.learn_one(X[0], y[0], bad)
    with pytest.raises(RecordError, match="person"):
        learner.learn_many(X, y)
    with pytest.raises(RecordError, match="person"):
        learner.learn_many(X, y, persons=SECRET)
    with pytest.raises(ValueError, match="4 rows and 3 persons"):
        learner.learn_many(X, y, persons=[1, 2, 3])
    with pytest.raises(RecordError) as refused:
        learner.learn_many(X, y, persons=[f"{SECRET}", None, 3, 4])
    assert SECRET not in str(refused.value)
    assert (learner.waiting, learner.left_out) == (2, 2), "nothing of it was taken"
    plain = Learner(2, epsilon=4.0, delta=1e-6)
    with pytest.raises(ValueError, match='privacy.unit is "record"') as refused:
        plain.learn_one(X[0], y[0], person=SECRET)
    assert SECRET not in str(refused.value) and plain.persons is None


def test_a_saved_learner_still_knows_whose_records_it_has_used(tmp_path):
    learner = limited()
    X, y = rows(30)
    learner.learn_many(X, y, persons=[k % 10 for k in range(30)])
    used, waiting = learner.records, learner.waiting
    path = tmp_path / "learner"
    learner.save(path)
    assert SECRET.encode() not in path.read_bytes()
    again = Learner.load(path, seed=1)
    assert (again.records, again.waiting, again.left_out) == (used, waiting, 10)
    again.learn_many(X, y, persons=[k % 10 for k in range(30)])
    assert (again.records, again.waiting, again.left_out) == (used, waiting, 40)


def test_gradients_cut_by_person_use_all_records_and_have_no_certificate_without_new_persons():
    learner = Learner(2, epsilon=4.0, delta=1e-6, rounds=20, batch=6, warmup=90, settings=GROUPED, seed=1)
    X, y = rows(210)
    learner.learn_many(X, y, persons=[k % 60 for k in range(210)])
    assert (learner.records, learner.left_out, learner.persons) == (210, 0, 60)
    assert learner.get_epsilon() <= 4.0
    assert learner.config.lifetime_epsilon > 4.0
    returning = Learner(
        2, epsilon=4.0, delta=1e-6, rounds=20, batch=6, warmup=90, seed=1,
        settings={**GROUPED, "privacy.persons_per_round": 0},
    )
    assert returning.config.lifetime_epsilon is None
    assert any("no new persons" in line for line in returning.privacy_statement)
    with pytest.raises(BudgetError):
        for k in range(10_000):
            returning.learn_many(X[:6], y[:6], persons=[k % 5 for k in range(6)])
    assert returning.get_epsilon() <= 4.0


def test_the_accountant_counts_persons():
    config = Learner(2, epsilon=4.0, delta=1e-6, rounds=20, batch=6, warmup=90, settings=GROUPED).config
    planned, told, few = Accountant(config), Accountant(config), Accountant(config)
    assert "one person" in planned.unit
    planned.step(5)
    for round in range(5):
        told.step(records=30 + 2 * (round + 1))
        few.step(records=30)
    assert told.zcdp == planned.zcdp < few.zcdp
    assert planned.zcdp == pytest.approx(
        sum((2 * clip(config) / (30 + 2 * (t + 1))) ** 2 for t in range(5)) / (2 * config.noise_scales[0] ** 2),
        rel=1e-6,
    )


def clip(config):
    """The largest gradient of one record: logistic, with features of norm 1."""
    assert config["model.loss"] == "logistic" and config["bounds.feature_norm"] == 1.0
    return 1.0


def network(**options):
    sources = []
    for learner in range(3):
        X, y = rows(120, learner)
        sources.append((X, y, [f"{SECRET}-{k % 30}" for k in range(120)]))
    return Network(
        sources, graph="complete", epsilon=4.0, delta=1e-6, rounds=8, records_per_person=2, batch=4, window=4,
        seed=1, test=rows(50, 9), **options,
    )


def test_a_network_of_persons_says_its_unit_and_shows_no_key(tmp_path):
    run = network()
    result = run.run(progress=False)
    assert "one person" in result.summary["unit"]
    assert result.summary["data"]["records_left_out"] == 3 * 60
    assert all(learner["persons"] for learner in result.summary["learners"])
    assert SECRET not in json.dumps(result.summary)
    run.save(tmp_path / "run")
    for file in (tmp_path / "run").iterdir():
        assert SECRET.encode() not in file.read_bytes(), file.name
    assert verify(tmp_path / "run")["agrees"]


def test_sources_of_other_kinds_say_whose_their_records_are():
    pandas = pytest.importorskip("pandas")
    frames, streams = [], []
    for learner in range(3):
        X, y = rows(120, learner)
        persons = [k % 30 for k in range(120)]
        frames.append(pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "who": persons, "label": y}))
        streams.append(iter(zip(X, y, persons)))
    options = dict(epsilon=4.0, delta=1e-6, rounds=8, records_per_person=2, batch=4, window=4, seed=1)
    tables = Network(frames, graph="complete", label="label", person="who", **options).run(progress=False)
    pulled = Network(streams, graph="complete", features=2, **options).run(progress=False)
    assert np.array_equal(tables.public_model.values, pulled.public_model.values)
    endless = [iter(lambda: ([0.1, 0.2], 1, "the same"), None) for _ in range(3)]
    done = Network(endless, graph="complete", features=2, **options).run(2, progress=False)
    assert done.summary["learners"][0]["ran_dry"], "one person's records are not waited for without end"


def test_a_config_without_a_way_to_bound_persons_says_what_is_missing():
    config = Learner(2, epsilon=4.0, delta=1e-6).config
    with pytest.raises(Exception, match="records_per_person"):
        config.replace({"privacy.unit": "person"})
    assert isinstance(config.replace({"privacy.unit": "person", "privacy.records_per_person": 2}), Config)
