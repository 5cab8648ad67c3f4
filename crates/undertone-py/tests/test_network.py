"""Networks: the same bits as the command, callbacks, interruption, results."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import undertone
from undertone import BudgetError, ConfigError, Network, RecordError


def network(stream, **options):
    X, y = stream
    sources = [(X[k::4], y[k::4]) for k in range(4)]
    kind = dict(classes=["no", "yes"], epsilon=4.0, delta=1e-6, batch=8, seed=1)
    return Network(sources, **{**kind, **options})


def safetensors(path):
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return data[8 + length :]


@pytest.mark.parametrize("preset", ["mushrooms", "shielded-mushrooms"])
def test_a_config_gives_the_bits_of_the_command(command, tmp_path, preset):
    out = tmp_path / "run"
    arguments = [command, "simulate", "--preset", preset, "--seed", "11", "--rounds", "40", "--quiet", "--out", out]
    subprocess.run(arguments, check=True)
    config = undertone.Config.preset(preset).replace({"rounds": 40})
    run = Network.from_config(config, seed=11)
    run.run(15, progress=False)
    result = run.run(progress=False)
    assert result.ended == "finished" and result.rounds_run == 40
    assert result.public_model.values.tobytes() == safetensors(out / "model.safetensors")
    summary = json.loads((out / "summary.json").read_text())
    assert result.summary["last"] == summary["last"]
    assert result.epsilon == [learner["epsilon"] for learner in summary["learners"]]
    other = Network.from_config(config, seed=12).run(progress=False)
    assert other.public_model.values.tobytes() != safetensors(out / "model.safetensors"), "the control"


def test_what_is_saved_can_be_verified(stream, tmp_path, command):
    run = network(stream)
    run.run(20, progress=False)
    run.save(tmp_path / "run")
    report = undertone.verify(tmp_path / "run")
    assert report["agrees"] and len(report["learners"]) == 4
    subprocess.run([command, "verify", tmp_path / "run"], check=True)
    ledger = tmp_path / "run" / "ledger.ndjson"
    ledger.write_text(ledger.read_text().replace('"records":', '"records":1', 1))
    assert not undertone.verify(tmp_path / "run")["agrees"], "the control"


def test_learning_together_beats_learning_from_one_class_alone(stream):
    X, y = stream
    sources = [(X[y == label], y[y == label]) for label in ("no", "yes")]
    options = dict(graph="complete", classes=["no", "yes"], epsilon=8.0, delta=1e-6, batch=8)
    together = Network(sources, **options).run(60, progress=False)
    assert (together.public_model.predict(X) == y).mean() > 0.85
    alone = Network(sources[:1], **options).run(60, progress=False)
    assert (alone.public_model.predict(X) == y).mean() < 0.6, "the control"


def test_callbacks_see_every_round_and_may_stop_the_run(stream):
    run = network(stream)
    seen = []
    run.run(10, progress=False, callback=lambda rounds, row: seen.append((rounds, row["records"])))
    assert [rounds for rounds, _ in seen] == list(range(1, 11))
    assert seen[1][1] - seen[0][1] == 4 * 8

    def stop(rounds, row):
        if rounds == 15:
            raise StopIteration("enough")

    with pytest.raises(StopIteration):
        run.run(10, progress=False, callback=stop)
    assert run.rounds_run == 15
    run.run(5, progress=False)
    whole = network(stream)
    whole.run(20, progress=False)
    assert run.public_model.values.tobytes() == whole.public_model.values.tobytes(), "nothing was half done"


def test_a_callback_may_look_at_its_network(stream):
    run = network(stream)
    seen = []
    run.run(3, progress=False, callback=lambda rounds, row: seen.append((run.rounds_run, run.public_model.epsilon)))
    assert [rounds for rounds, _ in seen] == [1, 2, 3] and seen[2][1] > 0


def test_bad_values_are_named_by_learner_and_row(stream):
    X, y = stream
    bad = X.copy()
    bad[7, 0] = float("nan")
    with pytest.raises(RecordError, match="row 7"):
        Network([(X, y), (bad, y)], graph="path", classes=["no", "yes"], epsilon=1.0, delta=1e-6)
    pairs = iter([(row, label) for row, label in zip(bad, y)])
    run = Network([(X, y), pairs], graph="path", features=3, classes=["no", "yes"], epsilon=1.0, delta=1e-6)
    with pytest.raises(RecordError, match="learner 1: row 7"):
        run.run(5, progress=False)


def test_columns_without_names_are_columns_too(stream):
    import pandas

    X, y = stream
    frame = pandas.DataFrame(X).assign(label=y)
    run = Network([frame, frame], graph="path", label="label", classes=["no", "yes"], epsilon=1.0, delta=1e-6)
    assert run.run(3, progress=False).rounds_run == 3


def test_other_threads_run_while_learners_learn():
    run = Network.from_config("mushrooms", seed=1)
    ticks, over = [], threading.Event()

    def tick():
        while not over.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    run.run(60, progress=False)
    over.set()
    thread.join()
    assert len(ticks) > 20


def test_ctrl_c_stops_between_two_rounds():
    code = (
        "import undertone, sys\n"
        "run = undertone.Network.from_config('mushrooms', seed=1)\n"
        "def say(rounds, row):\n"
        "    if rounds == 3: print('running', flush=True)\n"
        "try:\n"
        "    run.run(progress=False, callback=say)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', 0 < run.rounds_run < 900, flush=True)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "running\n"
    os.kill(child.pid, signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "stopped True\n"


def test_a_model_of_records_dealt_by_their_labels_says_that_these_are_public(stream, tmp_path):
    for partition, public in [("by-class", True), ("iid", False)]:
        config = undertone.Config.preset("mushrooms").replace({"rounds": 3, "data.partition": partition})
        run = Network.from_config(config)
        result = run.run(progress=False)
        model = run.public_model
        assert (result.summary["labels_public"], model.labels_public) == (public, public)
        assert pickle.loads(pickle.dumps(model)).labels_public == public
        model.save(tmp_path / "model.safetensors")
        content = (tmp_path / "model.safetensors").read_bytes()
        assert (b"safe to publish only where labels" in content) == public
        assert (b'safe to publish"' in content) == (not public)
        unit = undertone.budget(config)["unit"]
        assert ("labels and the split are public" in unit) == public
    # Records of one's own are dealt by nobody.
    assert not network(stream).public_model.labels_public
    # A learner that starts from such a model says so for it.
    start = Network.from_config(undertone.Config.preset("mushrooms").replace({"rounds": 2})).public_model
    settings = dict(classes=start.classes, epsilon=2.0, delta=1e-6, intercept=False)
    begun = undertone.Learner(112, start=start, **settings)
    assert begun.public_model.labels_public
    assert any("not their labels" in sentence for sentence in begun.privacy_statement)
    begun.save(tmp_path / "learner")
    assert undertone.Learner.load(tmp_path / "learner").public_model.labels_public
    assert not undertone.Learner(112, **settings).public_model.labels_public, "the control"


def test_records_drawn_again_show_what_all_their_draws_have_paid():
    run = Network.from_config(undertone.Config.preset("paper-mushrooms").replace({"rounds": 1500}), seed=1)
    result = run.run(progress=False)
    learners = result.summary["learners"]
    assert max(learner["draws_max"] for learner in learners) == 2
    assert result.epsilon == run.get_epsilon() == [learner["epsilon"] for learner in learners]
    for learner in learners:
        again = learner["draws_max"] > 1
        assert (learner["epsilon"] > 1.9 * learner["epsilon_used_once"]) == again, "the control"
    assert result.columns["epsilon"][-1].max() > 0.99 * max(result.epsilon)
    report = undertone.budget(run.config)
    assert report["records_repeat"] and report["learners"][0]["uses"] == 1500
    assert report["learners"][0]["epsilon"] >= max(result.epsilon)


def test_results_come_as_numpy_and_pandas_and_a_picture(stream, tmp_path):
    X, y = stream
    result = network(stream, test=(X[:200], y[:200])).run(20, progress=False)
    assert result.columns["epsilon"].shape == (20, 4)
    frame = result.to_pandas()
    assert frame.index.name == "round" and frame["test_accuracy_public"].iloc[-1] > 0.7
    assert (frame["epsilon"].diff().dropna() >= 0).all()
    figure = result.plot(tmp_path / "run.png")
    assert "NOT PRIVATE" in figure.get_suptitle()
    assert (tmp_path / "run.png").stat().st_size > 10_000


def test_iterators_give_only_what_is_needed(stream):
    X, y = stream
    taken = 0

    def endless():
        nonlocal taken
        while True:
            taken += 1
            yield X[taken % len(X)], y[taken % len(X)]

    run = Network([endless(), (X, y)], graph="path", classes=["no", "yes"], epsilon=2.0, delta=1e-6, batch=4, window=2)
    run.run(5, progress=False)
    assert taken == 5 * 4 + 4
    run.run(1, progress=False)
    assert taken == 6 * 4 + 4


def test_graphs_come_as_words_edges_or_networkx(stream):
    class Graph:
        edges = [(0, 1), (1, 2), (2, 3), (3, 0)]

    values = [network(stream, graph=graph).run(5, progress=False).public_model.values.tobytes()
              for graph in ("ring", [(0, 1), (1, 2), (2, 3), (0, 3)], Graph())]
    assert values[0] == values[1] == values[2]
    with pytest.raises(ConfigError, match="not connected"):
        network(stream, graph=[(0, 1), (2, 3)])


def test_bad_sources_are_refused(stream):
    X, y = stream
    with pytest.raises(ValueError, match="3 sources for 4 learners"):
        Network([(X, y)] * 3, classes=["no", "yes"], epsilon=1.0, delta=1e-6, settings={"network.learners": 4})
    with pytest.raises(TypeError, match="a source is"):
        Network([42, 43], features=3, classes=["no", "yes"], epsilon=1.0, delta=1e-6)
    with pytest.raises(ValueError, match="rounds"):
        network(stream).run(10_000, progress=False)


def test_a_cap_ends_a_run(stream):
    run = network(stream, settings={"noise.calibrate": None, "noise.scale": 0.05})
    with pytest.raises(BudgetError):
        for _ in range(1000):
            run.run(1, progress=False)
    assert run.ended == "budget-exhausted" and max(run.get_epsilon()) <= 4.0


def test_columns_are_those_of_the_command(stream, command, tmp_path):
    X, y = stream
    run = network(stream, test=(X[:200], y[:200]))
    result = run.run(6, progress=False)
    run.save(tmp_path / "run")
    lines = (tmp_path / "run" / "rounds.csv").read_text().splitlines()
    cells = dict(zip(lines[0].split(","), zip(*(line.split(",") for line in lines[1:]))))
    del cells["warning"]
    columns = {}
    for name, values in result.columns.items():
        each = {name: values} if values.ndim == 1 else {f"{name}_{k}": values[:, k] for k in range(values.shape[1])}
        columns.update(each)
    assert list(columns) == list(cells)
    for name, values in columns.items():
        written = np.asarray([float(cell) if cell else np.nan for cell in cells[name]])
        np.testing.assert_array_equal(np.where(np.isfinite(values), values, np.nan), written, err_msg=name)
    assert columns["noise_scale_0"][0] > 0 and columns["tracking_distance_of_mean"][-1] > 0, "they hold something"
