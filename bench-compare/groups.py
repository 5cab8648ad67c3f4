"""What is compared with what: the groups, their systems, the goals, and the notes for readers."""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
#: Programs are called from another folder, so it is made absolute.
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "ours" / "target")).resolve()


THREADS = (
    "Threads: from 50 learners on, ours divides the learners among as many threads as there are cores; below that it has one. NumPy's BLAS may use all cores for products that it considers large enough."
)


class Command:
    """A program that prints one number. `{repetition}` among its words becomes the number of the repetition."""

    def __init__(self, words, inverse=False):
        self.words, self.inverse = [str(word) for word in words], inverse


class Group:
    """Systems at one task. The first is ours. A goal is the ratio of ours to another system; a limit is of our own number.

    A heavy group has fewer repetitions; a group of our own has no other system. Counterparts name for a system the one of
    ours that does the same from the same language; without one it is the first. A goal against several names, divided by
    " | ", is against the fastest of them.
    """

    def __init__(self, key, title, unit, contestants, goals=(), limit=None, less_is_better=False, heavy=False, own=False, note="", counterparts=()):
        self.key, self.title, self.unit, self.note = key, title, unit, note
        self.contestants, self.goals, self.limit = contestants, dict(goals), limit
        self.less_is_better, self.heavy, self.own = less_is_better, heavy, own
        self.counterparts = dict(counterparts)


def ours(*words):
    return Command([TARGET / "release" / "ours", *words])


def peer(name, *words, python=sys.executable):
    return Command([python, "-W", "ignore", HERE / "peers" / f"{name}.py", *words])


def torch(*words):
    """PyTorch in its own environment, with stand-ins for the CUDA libraries that nothing here calls."""
    environment = HERE / "environment-cnn"
    command = peer("torch_cnn", *words, python=environment / "bin" / "python")
    return Command(["env", f"LD_LIBRARY_PATH={environment / 'stand-ins'}", *command.words])


def p2pfl(*words):
    return peer("p2pfl_ring", *words, python=HERE / "environment-p2pfl" / "bin" / "python")


def all_groups():
    for part in (noise, accountant, logistic, accuracy, cnn, algorithm1, memory, nodes, p2pfl_ring, scale):
        yield from part()


def noise():
    yield Group(
        "noise", "Laplace noise, a million coordinates", "samples/s",
        {
            "ours, exact": ours("noise", "laplace", 1_000_000),
            "naive f64, not private": ours("noise", "naive", 1_000_000),
            "OpenDP, exact": peer("opendp_noise", 20_000),
            "OpenDP, exact, on our grid": peer("opendp_noise", 20_000, -13),
        },
        {"OpenDP, exact | OpenDP, exact, on our grid": 1500, "naive f64, not private": 2.5},
        note="The naive sampler is one logarithm of a ChaCha12 number in f64, whose gaps enable a known attack. OpenDP is called from Python "
        "with 20 000 numbers at a time, once with its own grid, the smallest there is, and once with 2⁻¹³, which is ours at this scale (ADR 0003). The goal "
        "counts against the faster of the two.",
    )
    yield Group(
        "gaussian", "Gaussian noise, a million coordinates", "samples/s", {"ours, exact": ours("noise", "gaussian", 1_000_000)}
    )


def accountant():
    for start in (10, 1_000, 100_000):
        yield Group(
            f"accountant-{start}", f"One more round of the account, after {start:,}", "ns",
            {
                "ours": ours("accountant", start),
                "dp-accounting (Rényi), composing only": peer("dp_accounting_round", start, "compose"),
                "dp-accounting (Rényi), composing and ε": peer("dp_accounting_round", start, "epsilon"),
                "OpenDP's odometer, composing and drawing": peer("opendp_round", start, "compose"),
                "OpenDP's odometer, composing, drawing and ε": peer("opendp_round", start, "epsilon"),
            },
            limit=50, less_is_better=True, heavy=start == 100_000,
            note="Ours is the recursion of Algorithm 1 with its running sum of zCDP and pure ε, checked against a cap in every round. "
            "dp-accounting composes a Gaussian event; OpenDP's `make_fully_adaptive_composition` takes a Laplace measurement of one "
            "number, and cannot compose without drawing its noise. Both are called from Python.",
        )


def logistic():
    for features in (20, 112, 1000):
        yield Group(
            f"logistic-{features}", f"Streaming logistic regression, {features} features", "rows/s",
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
            counterparts={
                "River, one row at a time": "ours from Python, learn_one",
                "scikit-learn, 1 row": "ours from Python, learn_one",
                "scikit-learn, 1000 rows": "ours from Python, learn_many of 1000",
            },
            note="Every system computes each row's gradient once. Ours makes a noisy and paid step for every 32 rows (1000 in "
            "`learn_many`); the others make a step for every row, and have no privacy.",
        )


def accuracy():
    notes = {
        "adult": "Income above 50 000 dollars: 32 561 rows to learn from, its own 16 281 to test with.",
        "covertype": "Two classes, lodgepole pine (class 2) and the rest: four fifths of 581 012 rows to learn from, the others to test with.",
    }
    for data, note in notes.items():
        who = lambda name: peer("accuracy", name, data, "{repetition}")
        yield Group(
            f"accuracy-{data}", f"Accuracy after one pass over {data.capitalize()}", "accuracy",
            {
                "ours, private: ε = 4, δ = 1e-6 for ever": who("ours"),
                "ours, without noise": who("without_noise"),
                "River, StandardScaler and LogisticRegression": who("river"),
                "River, LogisticRegression alone": who("river_unscaled"),
                "Vowpal Wabbit, logistic": who("vw"),
                "scikit-learn, SGDClassifier, log loss": who("sklearn"),
                "always the larger class": who("larger_class"),
            },
            heavy=data == "covertype",
            note=f"{note} Same rows, order and features for all (`peers/tables.py`): numbers divided by public constants, categories as "
            "one column each, a constant 1, every row scaled to norm 1. Each repetition has another order of rows. No system is tuned: ours has the "
            "default batch and window of `PrivateClassifier`, for both sets, and shows the model that may be published; the others have the settings "
            "of their documentation. River's scaler learns means and spreads from the records, which would cost privacy. "
            "Without noise means ε = 10⁹.",
        )


def cnn():
    batch, threads = 256, 1
    yield Group(
        f"cnn-{batch}", f"Gradients of the MNIST CNN, batches of {batch}, one thread", "records/s",
        {
            "ours, clipped": ours("cnn", "clipped", batch, threads),
            "ours, not clipped": ours("cnn", "plain", batch, threads),
            "Opacus, clipped": torch("opacus", batch, threads),
            "PyTorch, clipped with torch.func": torch("vmap", batch, threads),
            "PyTorch, not clipped": torch("plain", batch, threads),
            "PyTorch, not clipped, channels last": torch("channels-last", batch, threads),
        },
        {"Opacus, clipped": 12},
        note="Two convolutions of 5×5 with relu and pooling, and a dense layer: 18 378 parameters in f32. Clipped: each record's gradient is "
        "cut to norm 1, and the gradients are added. The median step counts. PyTorch's package is installed without the CUDA libraries, which nothing here calls "
        "(`cuda_stand_ins.py`).",
    )


def algorithm1():
    for learners in (5, 100, 1000):
        yield Group(
            f"whole-{learners}", f"Algorithm 1, {learners} learners, whole histories on both sides, 300 rounds", "rounds/s",
            {
                "ours, exact": ours("rounds", learners, 300, "exact"),
                "NumPy, whole histories": peer("numpy_algorithm1", learners, 300, "logistic", "whole"),
                "NumPy, learner by learner, whole histories": peer("numpy_algorithm1", learners, 300, "logistic", "one-by-one"),
            },
            heavy=learners == 1000,
            note="The same arithmetic on both sides: the logistic gradient over every record so far, n = 112, rounds 0 to 299. NumPy computes all learners in "
            "one expression, or one learner after the other as Algorithm 1 is written. From 1 000 learners on, it is sampled in ten stretches along the run. Ours also draws exact noise and keeps its account. There is no goal: both sides are limited by memory bandwidth. "
            + THREADS,
        )
    for learners in (5, 100, 1000):
        yield Group(
            f"paper-{learners}", f"Algorithm 1 at the paper's length, {learners} learners, logistic", "rounds/s",
            {
                "ours, anchored": ours("rounds", learners, 2000, "anchored"),
                "NumPy, whole histories": peer("numpy_algorithm1", learners, 2000, "logistic", "whole"),
                "NumPy, learner by learner, whole histories": peer("numpy_algorithm1", learners, 2000, "logistic", "one-by-one"),
            },
            {"NumPy, whole histories | NumPy, learner by learner, whole histories": 30}, heavy=learners == 1000,
            note="Rounds 0 to 1999, n = 112. NumPy computes the gradient over the whole history, as the paper defines it. Ours is run as a user would "
            "run it: the memory `anchored` (tolerance 0.05, exponent 0.4) recomputes the history's gradient only when θ has moved too far, and its "
            "error is charged to the budget. So ours is not the same arithmetic but the same method with a bounded error. From 100 learners on, NumPy is "
            "sampled in ten stretches along the run. Ours is a plain loop of absorb, observe and release, learner by learner, with account and ledger. The goal counts against the faster NumPy. "
            + THREADS,
        )
    for learners in (5, 100, 1000):
        yield Group(
            f"ridge-{learners}", f"Algorithm 1 at the paper's length, {learners} learners, squared loss", "rounds/s",
            {
                "ours, moments, exact": ours("rounds", learners, 2000, "moments"),
                "NumPy, whole histories": peer("numpy_algorithm1", learners, 2000, "ridge", "whole"),
                "NumPy, learner by learner, whole histories": peer("numpy_algorithm1", learners, 2000, "ridge", "one-by-one"),
                "NumPy, moments": peer("numpy_algorithm1", learners, 2000, "ridge", "moments"),
            },
            {"NumPy, whole histories | NumPy, learner by learner, whole histories": 30}, heavy=learners == 1000,
            note="The same gradients on both sides, up to rounding: for the squared loss Σ a aᵀ and Σ b a determine the history gradient. NumPy with whole histories "
            "is the paper's definition; NumPy with moments is the version for readers who know this, and has no goal. From 100 learners on, NumPy is sampled "
            "in ten stretches along the run. The goal counts against the faster of the two with whole histories. " + THREADS,
        )


def memory():
    for kind in ("moments", "polynomial", "anchored", "window"):
        yield Group(
            f"memory-{kind}", f"A round with the memory {kind}, n = 112", "µs",
            {"after 100,000 rounds": ours("memory", kind, 100_000), "after 1,000 rounds": ours("memory", kind, 1_000)},
            {"after 1,000 rounds": 1.1}, less_is_better=True, own=True,
            note="Observe, release and absorb of one learner, and the release of its neighbour. The goal is a constant cost: the ratio of late to early. Five fresh "
            "learners are brought to that round; then 1 000 rounds (early) or 2 000 (late) are timed, and the median counts.",
        )


def nodes():
    for size in (1_000, 400_000, 4_000_000):
        yield Group(
            f"nodes-{size}", f"Five learners in a ring, messages of {size:,} bytes", "rounds/s",
            {
                "ours, mutual TLS": ours("nodes", "tls", "none", size),
                "ours, mutual TLS, on disk": ours("nodes", "tls", "disk", size),
                "ours, TCP": ours("nodes", "tcp", "none", size),
                "raw TLS lock-step": ours("sockets", "tls", size),
                "raw TCP lock-step": ours("sockets", "tcp", size),
            },
            {"raw TLS lock-step": 0.5}, heavy=size == 4_000_000, own=True,
            note="Real learners over loopback sockets, all in one process with several threads each, each round with noise, account and the step. The raw sockets carry as many bytes in "
            "lock-step and do nothing else, in parts of 32 kB that are written before they are read: a reference, not a bound. Stores are on the disk of the build.",
        )


def p2pfl_ring():
    size = 13_000 * 8
    seconds = lambda command: Command(command.words, inverse=True)
    yield Group(
        "p2pfl", "A round of five nodes in a ring, 13 000 parameters", "s",
        {
            "ours, mutual TLS": seconds(ours("nodes", "tls", "none", size)),
            "ours, TCP": seconds(ours("nodes", "tcp", "none", size)),
            "p2pfl, in memory, its defaults": p2pfl("memory", "default"),
            "p2pfl, gRPC, its defaults": p2pfl("grpc", "default"),
            "p2pfl, in memory, its settings for simulations": p2pfl("memory", "fast"),
        },
        less_is_better=True, heavy=True,
        note="p2pfl votes who trains, gossips models and waits between gossips by timers of its own, a second or half a second, so its time is mostly timers. Its nodes average with all "
        "four others, ours with two neighbours. Its step sleeps 0.3 s, which its number includes: with a step that takes no time, its models reach nodes that "
        "still vote, are dropped, and rounds wait for time-outs of a minute. It has no privacy and, here, no TLS. Three rounds after the first.",
    )


def scale():
    for learners, dimension in ((10_000, 112), (100, 1_000_000)):
        yield Group(
            f"scale-{learners}", f"{learners:,} learners in one process, n = {dimension:,}", "rounds/s",
            {"two threads": ours("scale", learners, dimension, 2), "one thread": ours("scale", learners, dimension, 1)},
            heavy=True, own=True,
            note="A ring of learners with dense records, no protocol and no store: second moments for n = 112, the newest record alone for longer vectors. "
            "Nine rounds are run before the clock starts, so that all state is allocated.",
        )
        yield Group(
            f"memory-of-{learners}", f"Memory a learner over its state, {learners:,} learners, n = {dimension:,}", "times",
            {"ours": ours("memory-per-learner", learners, dimension)}, less_is_better=True, heavy=True,
            note="Resident bytes after nine rounds of dense records, over those of parameters, update and statistics. Resident memory also holds buffered rows, "
            "the last releases and allocator overhead.",
        )
