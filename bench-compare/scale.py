#!/usr/bin/env python3
"""Measures what large networks need, and writes it down: scale.json, docs/scale.md and the picture in it.

    cargo build --release --manifest-path bench-compare/ours/Cargo.toml
    bench-compare/environment/bin/python bench-compare/scale.py             # everything
    bench-compare/environment/bin/python bench-compare/scale.py events      # some parts: events, seeds, process, store, gaps, budget, or one run
    bench-compare/environment/bin/python bench-compare/scale.py page        # the page and the picture again, from scale.json
"""

import concurrent.futures
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import scale_page

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "ours" / "target"))
KEPT = HERE / "scale.json"

#: Loss and churn of the runs that are compared by size: one release in a thousand is lost, learners stay for ten minutes
#: and are away for half a minute, on average.
ROUGH = ["--loss", 0.001, "--up", 600, "--down", 30]
#: A round does not end before half of the neighbours were heard (`--heard-least`; the daemon's default is one).
HALF = [*ROUGH, "--heard-least", 3]

SEEDS = range(1, 17)

#: Learners, rounds, seed, options.
RUNS = {
    "calm-1000": (1_000, 50, 1, []),
    "calm-10000": (10_000, 50, 1, []),
    "loss-10000": (10_000, 50, 1, ["--loss", 0.001]),
    "rough-1000": (1_000, 50, 1, ROUGH),
    "rough-10000": (10_000, 50, 1, ROUGH),
    "rough-10000-2": (10_000, 50, 2, ROUGH),
    "rough-10000-4": (10_000, 50, 4, ROUGH),
    "half-1000": (1_000, 50, 1, HALF),
    "half-10000": (10_000, 50, 1, HALF),
    "half-10000-2": (10_000, 50, 2, HALF),
    "half-10000-4": (10_000, 50, 4, HALF),
    "half-1s-10000": (10_000, 50, 1, [*HALF, "--deadline", 1]),
    "half-20s-10000": (10_000, 50, 1, [*HALF, "--deadline", 20]),
    "calm-ring-1024": (1_024, 150, 1, ["--topology", "ring"]),
    "calm-torus-1024": (1_024, 150, 1, ["--topology", "torus"]),
    "calm-regular-1024": (1_024, 50, 1, []),
    "noise-1000": (1_000, 150, 1, ["--step", 0.5, "--noise", 0.2]),
    "long-500": (500, 20, 1, ["--dimension", 300, "--uplink", 1e6]),
    "rough-100000": (100_000, 50, 1, ROUGH),
    "half-100000": (100_000, 50, 1, HALF),
}


def ours(*words):
    command = [str(TARGET / "release" / "ours"), *map(str, words)]
    begin, before = time.monotonic(), processor_seconds()
    said = subprocess.run(command, capture_output=True, text=True, timeout=3600, cwd=HERE)
    if said.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}:\n{said.stderr[-2000:]}")
    used = processor_seconds() - before
    print(f"{' '.join(map(str, words))}: {time.monotonic() - begin:.0f} s, {used:.0f} s of a core", flush=True)
    found = json.loads(said.stdout)
    if isinstance(found, dict):
        found["processor_seconds"] = used
    return found


def processor_seconds():
    """Of all children so far: on a busy machine it says more than the clock."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def event(kept, name):
    learners, rounds, seed, options = RUNS[name]
    kept.setdefault("events", {})[name] = ours("events", learners, rounds, seed, *options)
    save(kept)


def events(kept):
    for name in RUNS:
        event(kept, name)


def seeds(kept):
    """How many rounds are sat out, for many seeds: over direct links and through a router, with one or half of the neighbours heard."""

    def sat_out(options, seed):
        return ours("events", 10_000, 50, seed, *options)["measured"]["sat_out_share"]

    kinds = {"direct, 1": ROUGH, "direct, 3": HALF, "router, 1": [*ROUGH, "--router", 1], "router, 3": [*HALF, "--router", 1]}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {kind: [pool.submit(sat_out, options, seed) for seed in SEEDS] for kind, options in kinds.items()}
        kept["seeds"] = {kind: [run.result() for run in of_kind] for kind, of_kind in runs.items()}


def process(kept):
    """Large networks in one process, on one thread and on two in turns."""
    found = {}
    for learners, dimension in ((10_000, 112), (1_000, 112), (100, 112), (100, 1_000_000)):
        rates = {"1": [], "2": []}
        for _ in range(3):
            for threads, values in rates.items():
                values.append(ours("scale", learners, dimension, threads))
        # Others on the machine only slow it down.
        best = {threads: max(values) for threads, values in rates.items()}
        found[f"{learners}x{dimension}"] = {"learners": learners, "dimension": dimension, "rounds_per_second": best}
    for key in ("10000x112", "100x1000000"):
        found[key]["memory_over_state"] = ours("memory-per-learner", found[key]["learners"], found[key]["dimension"])
    kept["process"] = found
    kept["bandwidth"] = {threads: max(ours("bandwidth", threads) for _ in range(3)) for threads in ("1", "2")}


def store(kept):
    kept["store"] = [ours("store-growth", 112, 20_000), ours("store-growth", 100_000, 64)]


def gaps(kept):
    asked = [("ring", 200, 2), ("torus", 900, 4), ("hypercube", 65_536, 16)]
    asked += [("regular", learners, degree) for learners in (1_000, 10_000, 100_000) for degree in (4, 6, 8)]
    asked += [("regular", 1_000_000, 6)]
    kept["gaps"] = [ours("gap", *words) for words in asked]


def budget(kept):
    kept["budget"] = [ours("budget", *words) for words in ((1_000, 500), (1_000, 525_600), (100_000, 525_600))]


PARTS = {"events": events, "seeds": seeds, "process": process, "store": store, "gaps": gaps, "budget": budget}


def save(kept):
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")


def machine():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return f"{model}, {os.cpu_count()} cores"


def main():
    wanted = sys.argv[1:] or list(PARTS)
    unknown = [name for name in wanted if name not in (*RUNS, *PARTS, "page")]
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join([*PARTS, 'page', *RUNS])}", file=sys.stderr)
        sys.exit(2)
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in wanted:
        if name == "page":
            continue
        # Before, or it would be the part's own.
        load = os.getloadavg()[0]
        if name in RUNS:
            event(kept, name)
        else:
            PARTS[name](kept)
        kept["machine"] = machine()
        kept.setdefault("load", {})["events" if name in RUNS else name] = load
        save(kept)
    scale_page.write(kept)


main()
