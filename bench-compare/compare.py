"""Runs our side and the peers in turns, and writes what was found: results.json, docs/performance.md, a picture."""

import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "ours" / "target"))
#: What our own number may be at most, by the beginning of a group's key.
LIMITS = {"accountant": 50}
REPETITIONS = 3 if os.environ.get("QUICK") else 7


def ours(*words):
    return [str(TARGET / "release" / "ours"), *map(str, words)]


def peer(name, *words):
    return [sys.executable, str(HERE / "peers" / f"{name}.py"), *map(str, words)]


class Group:
    """Contestants at one task. The first is ours, and goals are ratios of ours to a peer."""

    def __init__(self, key, title, unit, contestants, goals=(), less_is_better=False, note=""):
        self.key, self.title, self.unit, self.note = key, title, unit, note
        self.contestants, self.goals, self.less_is_better = contestants, dict(goals), less_is_better


def groups():
    yield Group(
        "noise", "Laplace noise, a million coordinates", "samples/s",
        {
            "ours, exact": ours("noise", "laplace", 1_000_000),
            "naive f64, not private": ours("noise", "naive", 1_000_000),
            "OpenDP, exact": peer("opendp_noise", 20_000),
        },
        {"OpenDP, exact": 1500, "naive f64, not private": 2.5},
    )
    yield Group("gaussian", "Gaussian noise, a million coordinates", "samples/s", {"ours, exact": ours("noise", "gaussian", 1_000_000)})
    for start in (10, 1_000, 100_000):
        yield Group(
            f"accountant-{start}", f"one more round of the account, after {start:,}", "ns",
            {"ours": ours("accountant", start), "dp-accounting (Rényi), with ε": peer("dp_accounting_round", start)},
            less_is_better=True,
        )
    for features in (20, 112, 1000):
        yield Group(
            f"logistic-{features}", f"streaming logistic regression, {features} features", "rows/s",
            {
                "ours, private, one row at a time": ours("logistic", features),
                "ours from Python, learn_one": peer("python_learner", features, 1),
                "ours from Python, learn_many of 1000": peer("python_learner", features, 1000),
                "River, one row at a time": peer("river_logistic", features),
                "scikit-learn, 1 row": peer("sklearn_logistic", features, 1),
                "scikit-learn, 1000 rows": peer("sklearn_logistic", features, 1000),
                "Vowpal Wabbit, binary cache": peer("vw_logistic", features),
            },
            {"River, one row at a time": 20, "Vowpal Wabbit, binary cache": 1},
        )
    for learners in (5, 100, 1000):
        yield Group(
            f"algorithm1-{learners}", f"Algorithm 1, {learners} learners, whole histories", "rounds/s",
            {"ours": ours("rounds", learners), "NumPy": peer("numpy_algorithm1", learners)},
            {"NumPy": 30},
        )
    for kind in ("moments", "polynomial", "anchored", "window"):
        yield Group(
            f"memory-{kind}", f"a round with the memory {kind}, n = 112", "µs",
            {"after 100,000 rounds": ours("memory", kind, 100_000), "after 1,000 rounds": ours("memory", kind, 1_000)},
            {"after 1,000 rounds": 1.1}, less_is_better=True,
        )
    for size in (1_000, 400_000, 4_000_000):
        yield Group(
            f"nodes-{size}", f"five learners in a ring, messages of {size:,} bytes", "rounds/s",
            {
                "ours, mutual TLS": ours("nodes", "tls", "none", size),
                "ours, mutual TLS, on disk": ours("nodes", "tls", "disk", size),
                "ours, TCP": ours("nodes", "tcp", "none", size),
                "raw TLS lock-step": ours("sockets", "tls", size),
                "raw TCP lock-step": ours("sockets", "tcp", size),
            },
            {"raw TLS lock-step": 0.5},
        )
    for learners, dimension in ((10_000, 112), (100, 1_000_000)):
        yield Group(
            f"scale-{learners}", f"{learners:,} learners, n = {dimension:,}", "rounds/s",
            {"two threads": ours("scale", learners, dimension, 2), "one thread": ours("scale", learners, dimension, 1)},
        )
        yield Group(
            f"memory-of-{learners}", f"memory a learner over its state, {learners:,} learners, n = {dimension:,}", "times",
            {"ours": ours("memory-per-learner", learners, dimension)}, less_is_better=True,
        )


def measure(command):
    said = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=HERE / "peers")
    if said.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}:\n{said.stderr[-2000:]}")
    return float(said.stdout.split()[-1])


def run(group):
    found = {name: [] for name in group.contestants}
    failed = {}
    for _ in range(REPETITIONS):
        for name, command in group.contestants.items():
            if name not in failed:
                try:
                    found[name].append(measure(command))
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed[name] = str(error)
                    print(error, file=sys.stderr)
    result = {
        name: {"median": statistics.median(values), "least": min(values), "most": max(values)}
        for name, values in found.items()
        if values
    }
    print(f"{group.title}: " + ", ".join(f"{name} {value['median']:.4g} {group.unit}" for name, value in result.items()), flush=True)
    return {"title": group.title, "unit": group.unit, "less_is_better": group.less_is_better, "goals": group.goals, "found": result, "failed": failed}


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return {"processor": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def ratio(result, peer_name):
    first = next(iter(result["found"]))
    own, other = result["found"][first]["median"], result["found"].get(peer_name, {}).get("median")
    return None if other is None else own / other


def page(results):
    host = results["machine"]
    lines = [
        "# Performance, beside the peers",
        "",
        "Made by `bench-compare/run.sh`. The contestants of a group take turns on the same cores in one run: medians, with the least and the most",
        f"found in {results['repetitions']} repetitions. Groups may be of different runs.",
        f"Machine: {host['processor']}, {host['cores']} cores, {host['system']}. Ratios mean more than numbers: machines are shared and noisy.",
        "Peers compute without privacy unless it says otherwise; ours draws exact noise and pays for every step.",
        "",
        "![Ours over each goal](img/performance.png)",
        "",
    ]
    missed = []
    for key, result in results["groups"].items():
        if not result["found"]:
            continue
        for beginning, limit in LIMITS.items():
            own = next(iter(result["found"].values()))["median"]
            if key.startswith(beginning) and own > limit:
                missed.append(f"{result['title']}: {own:.4g} {result['unit']}, at most {limit} was wanted")
        first = next(iter(result["found"]))
        lines += [f"## {result['title']}", "", f"| | {result['unit']} | from | to | ours over it | goal |", "|---|---|---|---|---|---|"]
        for name, value in result["found"].items():
            goal = result["goals"].get(name)
            share = ratio(result, name)
            word = "at most" if result["less_is_better"] else "at least"
            cells = [f"{value[key]:,.4g}" for key in ("median", "least", "most")]
            lines.append(f"| {name} | {' | '.join(cells)} | {'' if name == first else f'{share:.3g}'} | {'' if goal is None else f'{word} {goal:g}'} |")
            if goal is not None and (share > goal if result["less_is_better"] else share < goal):
                missed.append(f"{result['title']}: {share:.3g} against {name}, {word} {goal:g} was wanted")
        for name, why in result["failed"].items():
            lines.append(f"\n{name} could not be run: {why.strip().splitlines()[-1]}")
        lines.append("")
    lines += ["## What was not won", ""]
    lines += [f"- {line}" for line in missed] or ["- Every goal was met."]
    absent = [group.title for group in groups() if group.key not in results["groups"]]
    if absent:
        lines += ["", "Not measured here: " + "; ".join(absent) + "."]
    return "\n".join(lines) + "\n"


def picture(results):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = []
    for result in results["groups"].values():
        for name, goal in result["goals"].items():
            share = ratio(result, name) if result["found"] else None
            if share is not None:
                bars.append((f"{result['title']}\nover {name}", goal / share if result["less_is_better"] else share / goal))
    figure, axes = pyplot.subplots(figsize=(9, 0.55 * len(bars) + 1.2), layout="constrained")
    names, values = zip(*reversed(bars))
    axes.barh(names, values, color=["#1b7f5a" if value >= 1 else "#c2571a" for value in values])
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="ours over the goal (1 = just met, right is better)")
    axes.tick_params(axis="y", labelsize=7)
    figure.savefig(DOCS / "img" / "performance.png", dpi=110)


def main():
    wanted = sys.argv[1:]
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() and wanted else {"groups": {}}
    results["machine"] = machine()
    results["repetitions"] = min(REPETITIONS, results.get("repetitions", REPETITIONS))
    for group in groups():
        if not wanted or any(group.key.startswith(word) for word in wanted):
            results["groups"][group.key] = run(group)
            path.write_text(json.dumps(results, indent=1) + "\n")
    (DOCS / "performance.md").write_text(page(results))
    picture(results)


main()
