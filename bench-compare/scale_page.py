"""docs/scale.md and its picture, from the measurements of scale.py."""

import decimal
import math
import pathlib

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
MILLION = 1_000_000
#: As in wide_area.rs; a request is 32 bytes in a packet.
OVERHEAD, PACKET = 80, 1200
REQUEST = 32 + OVERHEAD
DAY, YEAR = 86_400, 365 * 86_400


def message_bytes(dimension, degree):
    """As in wire.rs."""
    return 44 + 8 * (degree + dimension)


def on_the_wire(dimension, degree):
    size = message_bytes(dimension, degree)
    return degree * (size + math.ceil(size / PACKET) * OVERHEAD)


def rounded_up(epsilon, digits):
    """ε for people: never less than the value."""
    step = decimal.Decimal(1).scaleb(-digits)
    return str(decimal.Decimal(epsilon).quantize(step, rounding=decimal.ROUND_CEILING))


def size(count):
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000


def span(seconds):
    for name, length in (("years", YEAR), ("days", DAY), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.3g} {name}"
    return f"{seconds:.3g} s"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows] + [""]


# Graphs of a million learners, by formula. Weights are half of one over the degree.


def graphs():
    """Name, degree, |δ₂|, formula."""
    side = math.isqrt(MILLION)
    yield "ring", 2, (1 - math.cos(2 * math.pi / MILLION)) / 2, "(1 − cos 2π/m)/2 ≈ π²/m²"
    yield "torus, 1000 × 1000", 4, (1 - math.cos(2 * math.pi / side)) / 4, "(1 − cos 2π/√m)/4 ≈ π²/2m"
    for degree in (4, 6, 8, 16):
        yield f"random regular, {degree}", degree, 0.5 - math.sqrt(degree - 1) / degree, "½ − √(d−1)/d"
    yield "hypercube (2²⁰)", 20, 1 / 20, "1/log₂ m"
    yield "complete", MILLION - 1, 0.5 * MILLION / (MILLION - 1), "≈ ½"


def rounds_for_a_thousandth(gap):
    return math.log(1000) / -math.log1p(-gap)


def rounds_decaying(gap, exponent):
    """The same where the coupling is (t+1)^−u, γ0 = 1: the sum of couplings has to reach ln 1000/|δ₂|."""
    needed = math.log(1000) / gap
    return (1 + (1 - exponent) * needed) ** (1 / (1 - exponent))


#: Runs that the text is about; without others their rows are left out.
NEEDED = (
    "calm-10000", "loss-10000", "rough-10000", "half-1000", "half-10000", "half-1s-10000", "half-20s-10000", "noise-1000",
    "calm-ring-1024", "calm-torus-1024", "calm-regular-1024",
)


def file_sizes(store):
    """How large the file was after how many rounds. The file grows in steps: just before each it is full."""
    return store["sizes"] if "sizes" in store else [*store["full"], {"rounds": store["rounds"], "file_bytes": store["file_bytes"]}]


def bytes_a_round(store):
    """What a round leaves in a store for good: by the last two steps of the file, or by the receipts where it took fewer."""
    full = store.get("full", [])
    if len(full) < 2:
        return store.get("ledger_bytes_per_round", store.get("file_bytes", 0) / store.get("rounds", 1))
    (earlier, later) = full[-2:]
    return (later["file_bytes"] - earlier["file_bytes"]) / (later["rounds"] - earlier["rounds"])


class Found:
    """The measurements, with names for what the page says more than once."""

    def __init__(self, kept):
        self.kept = kept
        self.events = kept["events"]
        sizes = [(1_000, "half-1000"), (10_000, "half-10000"), (100_000, "half-100000")]
        self.sizes = [(count, self.events[name]) for count, name in sizes if name in self.events]
        # A million learners are assumed to be as slow as the largest network that was run: from 10 000 to 100 000 the pace stayed.
        self.round_seconds = mean_round(self.sizes[-1][1])
        self.calm_seconds = mean_round(self.events["calm-10000"])

    def bytes_a_round(self, dimension, degree):
        """What a learner sends in a round of the largest network: releases, requests, and answers to requests of others."""
        run = self.sizes[-1][1]["measured"]
        release = on_the_wire(dimension, degree) / degree
        return degree * release + run["asks_per_learner_round"] * REQUEST + run["answers_per_learner_round"] * release


def intro(found):
    return [
        "# Scale",
        "",
        "What a hundred thousand learners do on a wide-area network, measured in simulated time, and what a million would need, computed from that.",
        "Each section says which is which. Made by `bench-compare/scale.py` (parts of it can be run alone); numbers are in",
        f"`bench-compare/scale.json`. Machine: {found.kept['machine']}. Speeds were measured on a shared machine, where the load was "
        + ", ".join(f"{load:.1f} ({name})" for name, load in found.kept["load"].items()) + ":",
        "wall times are upper bounds. What is simulated does not depend on the load.",
        "",
        "![Round durations, consensus and deadlines](img/scale.png)",
        "",
    ]


def short(found):
    regular = next(gap for name, _, gap, _ in graphs() if name == "random regular, 6")
    per_round, rounds_day = found.bytes_a_round(112, 6), DAY / found.round_seconds
    ledger = bytes_a_round(found.kept["store"][0])
    memory_us = found.kept["store"][0]["microseconds_per_round_in_memory"]
    mixing = rounds_for_a_thousandth(regular)
    rows = [
        ["a round", f"{found.round_seconds:.2g} s", f"assumed to be as at {found.sizes[-1][0]:,} learners, simulated with churn, a deadline of 5 s, and half of the neighbours heard at least"],
        ["rounds until disagreement is a thousandth, constant coupling", f"{mixing:.0f} at most, {span(mixing * found.calm_seconds)}", "formula, an upper bound, and the pace of 10 000 learners without churn; with churn disagreement stays above a floor (below)"],
        ["a learner sends in a round, n = 112", size(per_round), "the wire format, assumed headers, and the requests and answers simulated with churn"],
        ["and in a day at that pace", f"{size(per_round * rounds_day)} ({8 * per_round / found.round_seconds / 1000:.3g} kbit/s)", "computed"],
        ["processor of a learner, n = 112", f"{memory_us:.0f} µs a round, {100 * memory_us * 1e-6 / found.round_seconds:.2g} % of a core", "measured, without disk and sockets"],
        ["store of a learner in a year, n = 112", size(ledger * YEAR / found.round_seconds), "computed from what a round leaves in the store, measured"],
        ["ε for ever", f"{rounded_up(found.kept['budget'][-1]['epsilon_for_ever'], 3)}", "the accountant: the same for any number of learners"],
    ]
    head = ["a million learners, random regular graph of degree 6", "", "from"]
    return ["## In short", ""] + table(head, rows)


def event_rows(events):
    for name, run in events.items():
        scenario, found, seconds = run["scenario"], run["measured"], run["measured"]["round_seconds"]
        churn = f"{scenario['up_seconds']:g}/{scenario['down_seconds']:g}" if scenario["up_seconds"] else "–"
        degree = {"ring": 2, "torus": 4}.get(scenario["topology"], scenario["degree"])
        yield [
            f"`{name}`", f"{scenario['topology']}, {degree}", f"{scenario['learners']:,}", scenario["dimension"],
            f"{100 * scenario['loss']:g} %", churn, f"{scenario['deadline_seconds']:g}", scenario["heard_least"],
            f"{seconds['p50']:.2f}", f"{seconds['p99']:.2f}", f"{found['rounds_per_second']:.3g}", f"{100 * found['heard_share']:.4g} %",
            f"{100 * found['sat_out_share']:.2g} %", f"{found['asks_per_learner_round']:.2g}", f"{found['bytes_per_learner_round']:,.0f}",
        ]


def simulated(found):
    events = found.events
    largest = found.sizes[-1][1]
    scenario, cost = largest["scenario"], largest["cost"]
    head = ["run", "graph", "learners", "n", "loss", "up/down s", "deadline s", "heard least", "p50 s", "p99 s", "rounds/s", "heard in time", "skipped", "requests", "bytes"]
    lines = [
        "## A hundred thousand learners in simulated time",
        "",
        "Measured. `ours events LEARNERS ROUNDS SEED` runs the real protocol (`undertone_node::protocol::Node`, the real wire format, a store for each",
        "learner) under a simulated clock. Messages take half of a round trip between six regions (averages between cloud regions; the table and its source",
        "are in `wide_area.rs`) and 10 ms, times a log-normal factor of deviation 0.25, after they have passed an uplink of 10 Mbit/s. *Loss* is of whole",
        "messages, as when a connection breaks: releases, requests and answers alike. With *churn* a learner stays for an exponential time, goes away, and",
        "comes back from its store after another; some are away at the start. A learner that returns is connected after two round trips, or up to two seconds later if its neighbour has to connect; then both send their newest releases and request what they miss. Records are always available, so the network alone is measured. The noise follows",
        "from the seed: NOT PRIVATE. *Heard least*: a round does not end before this many neighbours were heard; the daemon's default is 1. *p50* and *p99* are of the",
        "seconds between two rounds' ends, *requests* and *bytes* (headers of 80 bytes a packet assumed) are those of a learner in a round, *skipped* is the share of",
        "rounds skipped to catch up, *rounds/s* is how fast the median learner reaches the last round.",
        "",
    ]
    lines += table(head, event_rows(events))
    unfinished = sum(run["measured"]["unfinished"] for run in events.values())
    reached = f"{unfinished} learners did not reach the last round." if unfinished else "All learners of all runs reached the last round."
    lines += [
        f"{reached} `half-{scenario['learners']}` took {span(largest['processor_seconds'])} of one core for {scenario['rounds']} rounds,",
        f"{1e6 * largest['processor_seconds'] / scenario['learners'] / scenario['rounds']:.0f} µs for a learner's round with everything around it, {size(cost['memory_bytes'])} in all and {size(cost['memory_bytes_per_learner'])} for each learner.",
        f"One hash over this network takes {1000 * cost['wire_seconds']:.0f} ms (by the clock). Each learner made two when it was opened, {span(2 * cost['wire_seconds'] * scenario['learners'])} for all; now it is made once for all.",
        "",
        "**Churn and the deadline set the pace, not latency.** " + pace(events),
        "",
        *runaway(found.kept["seeds"]),
        "",
    ]
    return lines


def mean_round(run):
    return run["measured"]["median_finished_seconds"] / run["scenario"]["rounds"]


def pace(events):
    mean = lambda name: f"{mean_round(events[name]):.2f} s"
    return (
        f"Without faults ten thousand learners take {mean('calm-10000')} a round, with loss alone {mean('loss-10000')}, with churn too {mean('rough-10000')}. "
        "A learner that leaves in mid-round delays its neighbours by one deadline, their neighbours wait for them, and so on: a delay travels one hop in a round and has reached "
        "every learner after about log m / log(d−1) rounds. With constant churn some delay is always in transit. "
        f"At ten thousand learners (`half-…`) a deadline of 1 s gives {mean('half-1s-10000')} a round, 5 s {mean('half-10000')}, 20 s {mean('half-20s-10000')}. "
        "A deadline should be a few times the slowest round trip, and no more. The daemon sends no leave message before a planned stop; one would spare the neighbours the wait."
    )


def runaway(seeds):
    """Runs in which more than a tenth of the rounds is skipped; churn alone makes a twentieth."""
    rows = [
        [*kind.split(", "), len(shares), sum(share > 0.1 for share in shares), f"{100 * sorted(shares)[len(shares) // 2]:.1f} %", f"{100 * max(shares):.0f} %"]
        for kind, shares in seeds.items()
    ]
    return [
        "**A few learners can run ahead of the network.** Ten thousand learners with loss and churn, many seeds: the share of rounds that is skipped.",
        "",
        *table(["links", "heard least", "seeds", "of them above a tenth", "median", "max"], rows),
        "The explanation is consistent with the data, but not verified for single learners: a round ends when one neighbour was heard and the others are away. Two learners whose other "
        "neighbours are all away, or have fallen behind, advance alone at the speed of one edge. Rounds cannot go back, so all others follow the learners that are ahead. (These runs were made when a learner still followed a single neighbour at once; now it does not, ADR 0017.) "
        "Over direct links this is rarer: both ends see when a neighbour is back, send it their newest release and request its own at once. A router does not announce who comes back. "
        "If half must be heard (`undertone node --heard-least`), it does not happen: no small group of a random graph has so many neighbours inside.",
    ]


def consensus(found):
    rows = []
    for name, degree, gap, formula in graphs():
        rounds = rounds_for_a_thousandth(gap)
        wire = on_the_wire(112, degree)
        rows.append([name, degree, formula, f"{gap:.3g}", f"{rounds:,.3g}", span(rounds * found.calm_seconds) if name == "random regular, 6" else "", f"{rounds_decaying(gap, 0.65):,.2g}", size(wire)])
    head = ["graph", "d", "\\|δ₂\\|, w = 1/2d", "at 10⁶", "rounds, constant coupling", "time", "rounds, u = 0.65", "sent in a round, n = 112"]
    lines = [
        "## How fast learners reach consensus",
        "",
        "Computed, for a million. A round leaves at most 1 − γ_t|δ₂| of the disagreement (while γ_t ≤ 1 and δ_m ≥ −1): after T rounds it is at most",
        "about exp(−|δ₂| Σ γ_t) of what it was. δ₂ is the largest eigenvalue of W below 0; a random regular graph has w(d − 2√(d−1)) (Friedman), and no",
        "graph of that degree has much more (Alon and Boppana). *Rounds* are those until disagreement is a thousandth; *time* is at the pace simulated without churn, for the one graph that was simulated.",
        "",
    ]
    lines += table(head, rows)
    lines += [
        "`shielded` allows constant coupling. Algorithm 1 needs γ_t = γ0 (t+1)^−u, so T rounds mix only γ0 T^(1−u)/(1−u) rounds' worth: what takes K rounds with constant",
        "coupling takes about ((1−u)K)^(1/(1−u)), at u = 0.65 a power of 2.9. On a random regular graph that is thousands of rounds; on a ring or torus of this size it never",
        "happens. A large network needs an expander, and few rounds need `shielded`.",
        "",
        "Measured: disagreement is the root mean square distance of a coordinate from its mean over learners, from starting points spread over ±1 with steps and noise too",
        "small to matter. *Factor* is what a round leaves of it, in the second half of the run; *averaging* is plain averaging of the same points over the same edges.",
        "",
    ]
    head = ["run", "\\|δ₂\\|", "factor, measured", "averaging", "for ever, 1 − \\|δ₂\\|", "at the end", "of those never away", "averaging"]
    rows = []
    for name, run in found.events.items():
        if name.startswith(("calm", "rough", "half", "loss")):
            decay, measured, gap = run["decay"], run["measured"], gap_of(run)
            rows.append([
                f"`{name}`", f"{gap:.4g}", f"{decay['measured']:.4f}", f"{decay['averaging']:.4f}", f"{1 - gap:.4f}",
                f"{measured['disagreement'][-1]:.2g}", f"{measured['disagreement_never_away'][-1]:.2g}", f"{run['disagreement_predicted'][-1]:.2g}",
            ])
    lines += table(head, rows)
    noisy = found.events["noise-1000"]
    lines += [
        "Without churn the protocol mixes as averaging does, and a little faster than the gap says: random starting points have all modes in them, not the slowest alone. With churn disagreement stops shrinking: a learner that comes back has the parameters it had when it left, and some come back for the last round only, so factors are above 1. In this test these are",
        "the starting points, as far away as possible; a learner that has learnt is near the others. With real steps and noise (`noise-1000`: λ = 0.5, deviation 0.2)",
        f"disagreement falls from {noisy['measured']['disagreement'][0]:.2f} to {noisy['measured']['disagreement'][-1]:.3f}, where noise and mixing balance.",
        "",
        "Eigenvalues by `ours gap`, against the formulas above (the doctor solves up to 1 000 learners, and says nothing of larger graphs):",
        "",
    ]
    rows = [
        [gap["topology"], f"{gap['learners']:,}", gap["degree"], f"{-gap['delta_2']:.5f}", f"{formula_of(gap):.5f}", f"{gap['delta_m']:.3f}", f"{gap['build_seconds']:.2f}", f"{gap['solve_seconds']:.2f}"]
        for gap in found.kept["gaps"]
    ]
    return lines + table(["graph", "learners", "d", "\\|δ₂\\|", "formula", "δ_m", "built in s, by the clock", "solved in s"], rows)


def gap_of(run):
    """|δ₂| of a run: by formula for rings and tori, where the iteration would need as many steps as there are learners."""
    scenario = run["scenario"]
    if scenario["topology"] == "regular":
        return -run["spectrum"]["delta_2"]
    return formula_of(scenario)


def formula_of(gap):
    learners, degree = gap["learners"], gap["degree"]
    return {
        "ring": (1 - math.cos(2 * math.pi / learners)) / 2,
        "torus": (1 - math.cos(2 * math.pi / math.sqrt(learners))) / 4,
        "hypercube": 1 / degree,
    }.get(gap["topology"], 0.5 - math.sqrt(degree - 1) / degree)


def per_learner(found):
    lines = [
        "## What a learner needs",
        "",
        "Bytes are computed from the wire format, 44 + 8(d_max + n) to each neighbour, and assumed headers, without requests; store and time are measured",
        "(`ours store-growth`: six neighbours, in one process, no sockets). Only the pace depends on the number of learners.",
        "",
    ]
    rows = []
    for one in found.kept["store"]:
        dimension, sizes = one["dimension"], file_sizes(one)
        wire = on_the_wire(dimension, 6)
        rows.append([
            f"{dimension:,}", size(message_bytes(dimension, 6)), size(wire), size(wire * DAY / found.round_seconds), size(wire * 1440),
            f"{wire * 8 / found.round_seconds / 1e6:.3g}",
            f"{one['microseconds_per_round_in_memory'] / 1000:,.3g}", f"{one['microseconds_per_round_on_disk'] / 1000:,.3g}",
            f"{size(sizes[-1]['file_bytes'])} after {sizes[-1]['rounds']}", f"{bytes_a_round(one):.0f} B",
        ])
    head = ["n", "message", "sent in a round", "in a day at this pace", "in a day, a round a minute", "Mbit/s at this pace", "ms a round", "with disk", "store", "kept of a round"]
    lines += table(head, rows)
    ledger = bytes_a_round(found.kept["store"][0])
    growth = [(f"{one['dimension']:,}", ", ".join(f"{size(at['file_bytes'])} after {at['rounds']}" for at in file_sizes(one))) for one in found.kept["store"]]
    lines += [
        "**Store.** " + "; ".join(f"n = {n}: {sizes}" for n, sizes in growth) + ". Rounds are pruned at every snapshot, which is written when they take four times the space of the",
        "snapshot; records are pruned when a round has used them. Receipts are kept for ever, as `verify` needs them:",
        f"{size(ledger * YEAR / 60)} in a year of a round a minute, {size(ledger * YEAR / found.round_seconds)} at the simulated pace. Nothing else grows.",
        "",
        "**Disk.** The time with disk is mostly the two syncs of a commit, not computing.",
        "",
    ]
    return lines


def privacy(found):
    rows = [[f"{one['learners']:,}", f"{one['rounds']:,}", f"{rounded_up(one['epsilon_after_rounds'], 4)}", f"{rounded_up(one['epsilon_for_ever'], 4)}", f"{one['plan_seconds']:.1f}"] for one in found.kept["budget"]]
    lines = [
        "## Privacy",
        "",
        "From the accountant (`ours budget`: the agreement of [node.md](node.md) with a random regular graph of degree 6, δ = 1e-6). Each learner protects its own records",
        "with its own noise, so its ε does not depend on how many others there are; 525 600 rounds are a year of a round a minute.",
        "",
    ]
    return lines + table(["learners", "rounds", "ε after them", "ε for ever", "planned in s"], rows) + [
        "A large network gains accuracy: the noise of many learners averages out, while no learner's ε changes. It gives no amplification: the account does not improve with the",
        "number of learners.",
        "",
    ]


def process(found):
    rows = []
    for one in found.kept["process"].values():
        rates = one["rounds_per_second"]
        over = one.get("memory_over_state")
        rows.append([
            f"{one['learners']:,}", f"{one['dimension']:,}", f"{rates['1']:,.3g}", f"{rates['2']:,.3g}", f"{rates['2'] / rates['1']:.2f}",
            f"{one['learners'] * rates['1']:,.3g}", "" if over is None else f"{over:.2f}",
        ])
    bandwidth = found.kept["bandwidth"]
    head = ["learners", "n", "rounds/s, one thread", "two", "two over one", "learner rounds/s, one thread", "memory over state"]
    return ["## In one process", "", "Measured (`ours scale`, `ours memory-per-learner`): no protocol, no store; noise from the operating system. The best of three, because other work on the machine only slows it down.", ""] + table(head, rows) + [
        f"Plain reading of 512 MB (`ours bandwidth`) reaches {bandwidth['1']:.3g} GB/s on one thread and {bandwidth['2']:.3g} GB/s on two, {float(bandwidth['2']) / float(bandwidth['1']):.2f} times as much.",
        "Ten thousand learners with n = 112 have 0.5 GB of statistics, which every round reads through once; a hundred have 5 MB, which stay in the cache.",
        verdict(found.kept),
        "",
    ]


def verdict(kept):
    """Why two threads are less than twice as fast as one."""
    rates = {key: kept["process"][key]["rounds_per_second"] for key in ("100x112", "10000x112")}
    within, beyond = 1e6 / 100 / rates["100x112"]["1"], 1e6 / 10_000 / rates["10000x112"]["1"]
    if kept["load"]["process"] > 3:
        return "The machine was busy then: these speeds are lower bounds, and do not compare one core with two."
    told = f"The same round of a learner takes {within:.1f} µs among a hundred and {beyond:.1f} µs among ten thousand, on one thread. "
    if beyond < 1.3 * within:
        return told + "So memory does not limit it."
    return told + (
        f"{100 * (1 - within / beyond):.0f} % of the time goes to memory that is not in the cache; noise, entropy and allocation are the same in both numbers. "
        "Two cores share the path to memory, so two threads are less than twice as fast."
    )


LIMITS = """## What limits a million

- **Departures.** See above: with a learner leaving somewhere at every instant the deadline sets the pace. Shorter deadlines, a leave message before planned stops, and learners that
  stay matter more than faster lines.
- **Stragglers.** One slow uplink slows its neighbours, and through them the network: before the deadline a slow learner cannot be told from a late message.
- **Learners that come back.** A learner more than eight rounds behind skips what it missed, and brings old parameters into the mean. This costs no privacy, and slows learning only until they are mixed.
- **The agreement.** All learners share one file with the whole graph in it, and learners cannot join or leave. A million learners need a graph that is built from a seed
  (`random-regular` is) and a way to admit learners later: there is none.
- **Long vectors.** At n = 100 000 a round is megabytes for each learner; see the table. Uplinks are the limit then, not latency.

## What was not measured

- No real wide-area network: latencies, loss and churn are assumptions, and churn of whole regions at once is not among them.
- Handshakes take time and no bytes, retransmissions are not simulated, and there is no limit on what a learner can receive.
- A million learners: everything about them is computed from a hundred thousand, or from formulas; only their graph was built and solved.
- The simulation has one learner on each machine; a learner's own computing takes no simulated time.
"""


def write(kept):
    missing = [part for part in ("process", "store", "gaps", "budget") if part not in kept]
    missing += [run for run in NEEDED if run not in kept.get("events", {})]
    if missing:
        print("no page yet: not measured are", ", ".join(missing))
        return
    found = Found(kept)
    sections = [intro, short, simulated, consensus, per_learner, privacy, process]
    lines = [line for section in sections for line in section(found)]
    (DOCS / "scale.md").write_text("\n".join(lines) + "\n" + LIMITS)
    picture(found)


def picture(found):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (rounds, spread, waiting) = pyplot.subplots(1, 3, figsize=(16, 4.8), layout="constrained")
    events = found.events
    shown = [("calm-10000", "10000, no faults", "#888888")]
    shown += [(f"half-{count}", f"{count}, loss and churn", colour) for count, colour in ((1000, "#7fb8d6"), (10_000, "#2b7bb0"), (100_000, "#0b2f4a"))]
    for name, label, colour in shown:
        if name in events:
            curve = events[name]["measured"]["round_seconds_curve"]
            rounds.plot([max(value, 1e-2) for value in curve], range(101), color=colour, label=label)
    rounds.set(xscale="log", xlabel="seconds of a round (10 ms and less drawn at 10 ms)", ylabel="% of rounds not longer", title="How long rounds take (deadline 5 s)")
    rounds.legend(fontsize=8)

    for name, colour in (("calm-ring-1024", "#c2571a"), ("calm-torus-1024", "#c99a2e"), ("calm-regular-1024", "#1b7f5a")):
        run = events[name]
        label = name.split("-")[1] + ", 1024"
        spread.plot(run["measured"]["disagreement"], color=colour, label=label)
        spread.plot(run["disagreement_predicted"], color="black", linestyle=":", linewidth=1)
    largest = found.sizes[-1]
    label = f"regular, {largest[0]}, loss and churn"
    spread.plot(largest[1]["measured"]["disagreement"], color="#0b2f4a", label=label)
    spread.plot(largest[1]["measured"]["disagreement_never_away"], color="#0b2f4a", linestyle="--", label="those of them never away")
    spread.plot([], [], color="black", linestyle=":", label="plain averaging")
    spread.set(yscale="log", ylim=(1e-5, 1), xlim=(0, 120), xlabel="rounds", ylabel="disagreement", title="How fast learners reach consensus")
    spread.legend(fontsize=8)

    names = ["half-1s-10000", "half-10000", "half-20s-10000"]
    deadlines = [events[name]["scenario"]["deadline_seconds"] for name in names]
    means = [mean_round(events[name]) for name in names]
    calm = mean_round(events["calm-10000"])
    waiting.plot(deadlines, means, "o-", color="#2b7bb0", label="10 000 learners with loss and churn")
    waiting.axhline(calm, color="#888888", label="no faults")
    waiting.set(xscale="log", yscale="log", xlabel="deadline, seconds", ylabel="seconds a round, mean", title="The deadline sets the pace")
    waiting.set_xticks(deadlines, [f"{deadline:g}" for deadline in deadlines])
    waiting.legend(fontsize=8)
    figure.savefig(DOCS / "img" / "scale.png", dpi=110)
