"""The accountant: known numbers, caps, targets, and what checks say."""

import pytest

import undertone
from undertone import Accountant, BudgetError, Config, ConfigError

#: The setting of docs/paper-map.md for which numbers are known: n = 112, C = 2, L = 1/4, ring of five.
KNOWN = {
    "name": "known",
    "unproven": True,
    "rounds": 2000,
    "network": {"learners": 5, "topology": "ring", "weight": 0.3},
    "data": {"source": "none", "partition": "iid"},
    "bounds": {"feature_norm": 1.0, "out_of_bounds": "refuse"},
    "model": {"loss": "logistic", "features": 112},
    "parameters": {"set": "ball", "radius": 1e5},
    "schedule": {"step": 1.0, "step_exponent": 0.77, "coupling": 1.0, "coupling_exponent": 0.65},
    "noise": {"kind": "laplace", "scale": 1.0, "exponent": 0.11},
    "privacy": {"delta": 1e-6},
}


def test_known_numbers_come_out():
    account = Accountant(KNOWN)
    account.step(2000)
    assert account.zcdp == pytest.approx(7.1535, abs=2e-4)
    assert account.get_epsilon(delta=1e-6) == pytest.approx(25.86, abs=5e-3)
    assert account.get_pure_epsilon() == pytest.approx(241.75, abs=5e-3)
    # The plan is priced by the exact Rényi divergence of Laplace noise, what was spent by its zCDP.
    assert account.planned_epsilon(2000) == pytest.approx(25.0911, abs=5e-3)
    assert account.lifetime_epsilon() > account.get_epsilon()


def test_the_papers_own_bounds_cost_what_is_known():
    for bound, pure in (("theorem5ii", 412.88), ("theorem5i", 20_575)):
        account = Accountant({**KNOWN, "privacy": {"delta": 1e-6, "bound": bound}})
        account.step(2000)
        assert account.get_pure_epsilon() == pytest.approx(pure, rel=1e-3)


def test_neighbours_that_are_away_make_releases_dearer():
    heard, alone = Accountant(KNOWN), Accountant(KNOWN)
    heard.step(100)
    alone.step(100, weight_heard=0.0)
    assert alone.get_epsilon() > 1.2 * heard.get_epsilon()
    with pytest.raises(ValueError, match="weight_heard"):
        heard.step(weight_heard=0.7)


def test_a_cap_is_foreseen_and_kept():
    account = Accountant({**KNOWN, "privacy": {"epsilon": 24.0, "delta": 1e-6}})
    assert account.remaining() == pytest.approx(24.0)
    assert not account.would_exceed(3) and account.would_exceed(2000)
    with pytest.raises(BudgetError, match="over the cap"):
        account.step(2000)
    paid = account.rounds
    assert 23.9 < account.get_epsilon() <= 24.0 and account.would_exceed()
    assert account.remaining() < 2.0
    with pytest.raises(BudgetError):
        account.step()
    assert account.rounds == paid, "nothing was paid for a round that was refused"
    free = Accountant(KNOWN)
    assert free.remaining() is None and not free.would_exceed(100)


def test_keywords_are_those_of_a_learner():
    account = Accountant(features=20, classes=[0, 1], epsilon=2.0, delta=1e-6)
    account.step(500)
    assert 0 < account.get_epsilon() <= account.lifetime_epsilon() <= 2.0
    with pytest.raises(TypeError):
        Accountant()
    with pytest.raises(TypeError, match="replace"):
        Accountant(KNOWN, epsilon=1.0)
    with pytest.raises(IndexError, match="learner"):
        Accountant(KNOWN, learner=5)


@pytest.mark.parametrize("target", [0.5, 1.0, 8.0])
def test_a_plan_gives_its_target_and_not_more_noise_than_needed(target):
    config = Accountant.plan("mushrooms", target_epsilon=target, delta=1e-6)
    assert target * (1 - 1e-6) <= config.lifetime_epsilon <= target
    less = config.replace({"noise.scale": config["noise.scale"] * 0.999, "privacy.epsilon": 100.0})
    assert less.lifetime_epsilon > target, "the control"
    finite, report = undertone.plan("mushrooms", target_epsilon=target, delta=1e-6, rounds=300)
    assert finite["noise.scale"] < config["noise.scale"] and report["horizon"] == "rounds"
    assert finite["rounds"] == report["budget"]["rounds"] == 300
    assert report["budget"]["learners"][0]["epsilon"] <= target
    with pytest.raises(ConfigError):
        Accountant.plan("mushrooms", target_epsilon=-1.0, delta=1e-6)


def test_a_learner_and_its_accountant_agree():
    from undertone import Learner

    learner = Learner(2, classes=[0, 1], epsilon=4.0, delta=1e-6, batch=4, window=3)
    learner.learn_many([[0.1, 0.2]] * 101, [0, 1] * 50 + [0])
    account = Accountant(learner.config)
    account.step(learner.rounds)
    assert account.get_epsilon() == learner.get_epsilon() == account.planned_epsilon(learner.rounds) > 0


@pytest.mark.parametrize("delta", [0, 1, -1.0, float("nan"), float("inf")])
def test_a_delta_that_is_none_is_refused(delta):
    learner = undertone.Learner(2, classes=[0, 1], epsilon=4.0, delta=1e-6)
    for asked in (Accountant(KNOWN).get_epsilon, learner.get_epsilon, Accountant(KNOWN).lifetime_epsilon):
        with pytest.raises(ValueError, match="delta"):
            asked(delta)
    with pytest.raises(ValueError, match="delta"):
        undertone.budget(KNOWN, delta=delta)


def test_numbers_that_are_too_large_are_refused():
    account = Accountant(KNOWN)
    account.step(2, records=2**63)
    with pytest.raises(ValueError, match="rounds"):
        account.planned_epsilon(2**62)
    with pytest.raises(ValueError, match="rounds"):
        undertone.budget(KNOWN, rounds=2**62)
    with pytest.raises(ValueError, match="rounds"):
        undertone.plan("mushrooms", target_epsilon=1.0, delta=1e-6, rounds=2**62)
    with pytest.raises(OverflowError):
        account.step(-1)


def test_doctor_finds_what_is_wrong_with_the_papers_own_settings():
    diagnosis = undertone.doctor({**KNOWN, "unproven": False})
    assert diagnosis["assumptions"]["assumption2"] is False
    assert not diagnosis["proven"]
    broken = [finding for finding in diagnosis["findings"] if finding["holds"] is False]
    assert all(finding["advice"] for finding in broken)
    with pytest.raises(ConfigError, match="Assumption 2"):
        Config({**KNOWN, "unproven": False})


def test_doctor_does_not_hold_a_shielded_config_to_algorithm_1():
    diagnosis = undertone.doctor("shielded-mushrooms")
    assert diagnosis["holds"] and diagnosis["method"] == "shielded"
    assert diagnosis["theorems"] == {} and diagnosis["assumptions"] == {}
    assert {finding["id"] for finding in diagnosis["findings"]} >= {"shielded.spread", "certificate.lifetime"}


def test_an_audit_of_an_honest_config_passes():
    config = Config.preset("mushrooms").replace({"model.features": 4, "network.learners": 3})
    report = undertone.audit(config, learner=0, seed=1)
    assert report["passed"] is True
    with pytest.raises(ConfigError, match="learner"):
        undertone.audit(config, learner=3)


def test_configs_say_all_that_is_wrong_at_once():
    with pytest.raises(ConfigError) as caught:
        Config({"rounds": 0, "network": {"learners": 1, "topology": "ring"}, "modle": {}})
    text = str(caught.value)
    assert "rounds" in text and "network" in text and "modle" in text and "privacy.delta" in text
    with pytest.raises(ConfigError, match="cannot be used"):
        Config({"privacy": {"epsilon": float("nan")}})
    with pytest.raises(ConfigError, match="cannot be used"):
        Config({"privacy": {"epsilon": object()}})
    with pytest.raises(ConfigError, match="no preset"):
        undertone.budget("mushroom")
    with pytest.raises(ConfigError, match="cannot read"):
        undertone.budget("missing.toml")
    with pytest.raises(TypeError, match="a config is"):
        undertone.budget(42)
    assert Config.preset("mushrooms").to_dict()["network"]["topology"] == "ring"
    assert Config.preset("mushrooms")["memory.window"] is None


def test_a_void_certificate_gives_way_to_what_was_spent_and_a_bound_on_the_rest():
    config = Config.preset("mushrooms").replace({"noise.calibrate": None, "noise.scale": 1.0, "privacy.epsilon": None})
    account = Accountant(config)
    void = account.lifetime_epsilon()
    account.step(10)
    assert not account.has_departed and account.lifetime_epsilon() == void
    account.step(3000, records=0, weight_heard=0.0)
    assert account.has_departed
    assert account.get_epsilon() > void, "the control: more was spent than planned"
    assert account.lifetime_epsilon() >= account.get_epsilon()
    for_ever = [one for one in account.privacy_statement if one.startswith("For ever")]
    assert len(for_ever) == 1 and for_ever[0].startswith("For ever from here: ε = ")
    assert undertone.format_epsilon(void) not in " ".join(account.privacy_statement)


def test_an_account_of_records_drawn_again_is_not_that_of_a_record_used_once():
    account = Accountant("paper-mushrooms")
    account.step(50)
    once = account.get_epsilon(uses=1)
    assert account.get_epsilon(uses=2) > 1.9 * once
    assert account.get_epsilon() == account.get_epsilon(uses=50) > 10 * once
    assert account.get_pure_epsilon() > 40 * account.get_pure_epsilon(uses=1)
    assert account.lifetime_epsilon() is None
    assert any("used 50 times" in one for one in account.privacy_statement)
    # The control: records that are used once.
    plain = Accountant("mushrooms")
    plain.step(50)
    assert plain.get_epsilon() == plain.get_epsilon(uses=1)
