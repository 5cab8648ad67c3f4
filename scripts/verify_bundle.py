#!/usr/bin/env python3
"""Checks an audit bundle of `undertone audit-bundle`: every charge is computed again.

    python3 verify_bundle.py BUNDLE

Needs Python 3.10 and nothing else. It was written from the decision records in docs/adr, not from Undertone's code, to
which it is a second opinion: ADR 27 has the format and the account step by step, ADRs 2 to 25 the reasons. Exit codes:
0 everything agrees, 1 something does not (it says which learner, round and field), 2 the file cannot be read.
"""

import copy
import hashlib
import json
import math
import struct
import sys
from collections import Counter, namedtuple
from decimal import ROUND_CEILING, Decimal, getcontext
from functools import partial
from itertools import combinations
from types import SimpleNamespace

FORMAT, VERSION = "undertone audit bundle", 1
UNIT = "one record of one learner replaced by another (event level), all else equal"
SEAL, END = b'\n"sha256":"', b'"}\n'
TOLERANCE, INF, ROOT2 = 1e-9, math.inf, math.sqrt(2.0)
ROUNDED_UP, ROUND_LIMIT, ENTRIES_MAX = 1.0 + 2.0**-32, 2**32, 2**17
getcontext().prec, getcontext().Emax, getcontext().Emin = 60, 10**17, -(10**17)

class Unreadable(Exception): """The file is no bundle that can be checked."""
class Disagreement(Exception): """Something in the bundle is not what it should be."""

# --- Reading, and the hashes of the chain (ADR 27) -------------------------------------------------------------------
def refuse(what):
    raise Unreadable(f"not as it should be: {str(what)[:80]}")
def unique(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse("a key appears twice")
def finite(digits):
    return float(digits) if math.isfinite(float(digits)) else refuse(digits)
def real(value):
    return float(value) if type(value) in (int, float) or value in ("infinity", "-infinity") else refuse(value)
def or_infinite(value):
    return INF if value is None else real(value)
def count(value):
    return value if type(value) is int and 0 <= value < 2**64 else refuse(value)
def of_type(kind, value):
    return value if isinstance(value, kind) else refuse(value)
def digest(value):
    return bytes.fromhex(value) if len(value) == 64 and set(value) <= set("0123456789abcdef") else refuse(value)

text = partial(of_type, str)

# The keys of every object in the order in which they are hashed. A pair: an object whose other keys depend on one of them.
Optional = namedtuple("Optional", "kind")  # null, or something of a kind
LAW = {"initial": real, "exponent": real}
CONSTANTS = ("smoothness", "strong_convexity", "gradient_spread", "gradient_norm")
FORGETTING = {"never": {}, "window": {"rounds": count}, "decaying": {"factor": real, "rounds": Optional(count)}}
METHODS = {"algorithm1": {"bound": text}, "shielded": {"interval": count, "momentum": real}, "dsgd": {}, "dola": {}, "local": {},
           "pdop": {"step_ratio": real, "noise_ratio": real}}
FACTS = {"dimension": count, "radius": real, "constants": dict.fromkeys(CONSTANTS, real),
         "schedule": {"step": LAW, "coupling": LAW}, "weight": real, "weight_min": real, "warmup": count,
         "batch": count, "memory_error": LAW, "forgetting": ("kind", FORGETTING),
         "noise": {"kind": text, "scale": LAW}, "noise_max": LAW, "method": ("name", METHODS)}
RECEIPT = {"learner": count, "round": count, "weight_heard": real, "records": count, "sensitivity": or_infinite,
           "noise_scale": real, "pure_cost": Optional(real), "zcdp_cost": or_infinite, "pure_total": Optional(real),
           "zcdp_total": or_infinite, "previous": digest}
SPENT = {"pure_epsilon": real, "zcdp": real, "epsilon": real, "delta": real}
LEARNER = {"learner": count, "uses": count, "mechanism": FACTS, "receipts": [RECEIPT], "spent": SPENT}
BUNDLE = {"format": text, "version": count, "producer": text, "unit": text, "warning": Optional(text),
          "network": text, "simulation": Optional({"exhausted": partial(of_type, bool)}),
          "agreement": partial(of_type, dict), "learners": [LEARNER], "sha256": text}

def keys_of(value, shape):
    return shape if isinstance(shape, dict) else {shape[0]: text} | shape[1][value[shape[0]]]
def shaped(value, shape):
    """A value with exactly the keys of its shape, in their order, and everything in it of the right kind."""
    if isinstance(shape, Optional):
        return None if value is None else shaped(value, shape.kind)
    if isinstance(shape, list):
        return [shaped(one, shape[0]) for one in value] if isinstance(value, list) else refuse(value)
    if isinstance(shape, (tuple, dict)):
        keys = keys_of(value, shape) if isinstance(value, dict) else refuse(value)
        return {key: shaped(value[key], keys[key]) for key in keys} if set(value) == set(keys) else refuse(value)
    return shape(value)
def encoded(value, shape):
    """Counts and f64 as eight bytes, little-endian; a text as its length and its bytes; null as 0, all else after 1."""
    if isinstance(shape, Optional):
        return encoded(0, count) if value is None else encoded(1, count) + encoded(value, shape.kind)
    if isinstance(shape, (tuple, dict)):
        return b"".join(encoded(value[key], kind) for key, kind in keys_of(value, shape).items())
    if shape is digest:
        return b"".join(encoded(byte, count) for byte in value)
    if shape is text:
        return encoded(len(value.encode()), count) + value.encode()
    return struct.pack("<Q" if shape is count else "<d", value)
def hashed(kind, *parts):
    return hashlib.sha256(encoded(kind, text) + b"".join(encoded(*part) for part in parts)).digest()
def is_close(found, expected):
    return found == expected or abs(found - expected) <= TOLERANCE * abs(expected) < INF

# --- C, the gradient spread (ADR 24) ---------------------------------------------------------------------------------
def squared_height(reach, label):  # the largest √(1 − c²)(b + κc)
    w = math.sqrt(label**2 + 8.0 * reach**2)
    return 0.5 * math.sqrt(reach**2 + label * (label + w) / 2.0) * (1.0 + 2.0 * label / (label + w))
def logistic_height(reach):
    """The largest √(1 − c²)σ(κc), where the derivative of its logarithm changes sign."""
    low, high = 0.0, 1.0
    for _ in range(60):
        c = 0.5 * (low + high)
        rises = reach * (1.0 - c * c) > c * (1.0 + math.exp(min(reach * c, 700.0)))
        low, high = (c, high) if rises else (low, c)
    return math.sqrt(1.0 - low * low) / (1.0 + math.exp(-reach * low)) if reach < 1e6 else 1.0

def softmax_bound(reach, classes, x, y, side):
    """Theorem J: a bound on (C/R)² where X/κ is from x to x + side and Y/κ from y to y + side."""
    others, omega = classes - 1.0, math.sqrt(classes / (classes - 1.0))
    def probabilities(norm):
        tau = 1.0 / (1.0 + others * math.exp(-omega * norm))
        rho = 1.0 / (1.0 + others * math.exp(omega * norm)) if norm <= 2.0 * omega else 0.0
        return tau, tau**2 + (1.0 - tau) ** 2 / others, rho
    total, big_x, big_y = min(x + y + 2.0 * side, 1.0), reach * (x + side), reach * (y + side)
    (tau, m, rho), (tau_x, m_x, rho_x) = probabilities(reach * total), probabilities(big_x)
    # The ends of c² = u: X²/u + Y²/(1 − u) = κ² at the corner where X and Y are smallest.
    middle = 1.0 + x * x - y * y
    root = math.sqrt(max((1.0 - x - y) * (1.0 + x + y) * (1.0 - x + y) * (1.0 + x - y), 0.0))
    least, most = max((middle - root) / 2.0, 0.0), min((middle + root) / 2.0, 1.0)
    # λ₀², with cosh v − 1 = (1 − e^−v)²/(2e^−v); and e^−2g.
    apart = math.exp(-ROOT2 * big_y)
    overlap = 2.0 * apart / (2.0 * apart + min(tau_x, 0.5) * (1.0 - apart) ** 2)
    odds = others**2 * math.exp(-(omega**2) * reach * max(ROOT2 * total, 2.0 * (x + side) / omega))
    n = min(2.0 * m, 2.0 / (1.0 + math.sqrt(odds)) if odds <= 1.0 else m + (1.0 - m) / (1.0 - m + odds * m))
    s = 2.0 * (1.0 - 2.0 * rho) + n
    bounds = [s + 2.0 * max(1.0 - 2.0 * least, 0.0) * m_x]  # S and (B)
    if least <= 0.5:  # (A)
        bounds += [4.0 * (1.0 - least) * (1.0 - 2.0 * lam * rho_x) + n + 2.0 * (1.0 - 2.0 * least) * lam * lam * m_x
                   for lam in (math.sqrt(overlap), 1.0)]
    if most >= 0.5:
        across, lean = 4.0 * m + 2.0 - 8.0 * rho, max(2.0 * most - 1.0, 0.0)
        c1 = max(c2 * (ROOT2 + big_y) ** 2 + (1.0 - c2) * across for c2 in (max(least, 0.5), most))
        e = apart + (classes - 2) * math.exp(-big_y / ROOT2 - big_x * math.sqrt(classes / (2.0 * (classes - 2))))
        ends, alike = (1.0 / tau, max(1.0 / tau, 2.0 * (1.0 + e) - 1.0 / tau)), 2.0 * lean * overlap / classes
        c2 = s + sum(2.0 * lean / end for end in ends) - alike
        c3 = sum(2.0 + max(2.0 / end**2 - 2.0 * (1.0 - lean) / end, 0.0) for end in ends) - alike
        bounds.append(min(c1, c2, c3))
    return max(bounds)
def softmax_height(reach, classes):
    """Two classes: as logistic. More: the square [0, κ]² is quartered 64 times, where the bound is largest."""
    if classes == 2 or reach >= 1e5:
        return 2.0 * ROOT2 * (logistic_height(ROOT2 * reach) if classes == 2 else 1.0)
    squares = [(softmax_bound(reach, classes, 0.0, 0.0, 1.0), 0.0, 0.0, 1.0)]
    for _ in range(64):
        squares.remove(top := max(squares))
        x, y, half = top[1], top[2], top[3] / 2.0
        for corner in ((x, y), (x, y + half), (x + half, y), (x + half, y + half)):
            if sum(corner) < 1.0:
                squares.append((softmax_bound(reach, classes, *corner, half), *corner, half))
    return math.sqrt(min(max(squares)[0], 8.0))

# --- The facts that follow from an agreement (ADR 27) ----------------------------------------------------------------
def loss_facts(agreement, taken):
    """n and the norm R of (expanded) features, B, and L, μ, C and G; n is None for neural networks."""
    model, bounds, theta = agreement["model"], agreement["bounds"], agreement["parameters"]
    loss, clip, ridge = text(model["loss"]), real(model.get("clip", "infinity")), real(model.get("ridge", 0.0))
    degree, n = model.get("degree", 1), model.get("parameters", model.get("features"))
    norm, label = real(bounds["feature_norm"]), real(bounds.get("label", 0.0))
    if loss == "polynomial":
        n, norm = math.comb(n + degree, degree), math.sqrt(sum(norm ** (2 * k) for k in range(degree + 1)))
    n = n * model["classes"] if loss == "softmax" else None if loss in ("cnn", "mlp") else n
    widest = max(abs(real(theta.get("lower", 0.0))), abs(real(theta.get("upper", 0.0)))) * math.sqrt(n or 0)
    radius = widest or None if theta["set"] == "box" else real(theta.get("radius", theta.get("total")))
    if loss in ("cnn", "mlp", "declared"):
        taken.add("that gradients are cut to the clip" + (", and all declared of the loss" if n else ", and the number of parameters"))
        largest, spread = clip * (1.0 + (1e-9 if n else 2e-5)), real(model.get("gradient_spread", "infinity"))
        curved, convex = real(model.get("smoothness", "infinity")), real(model.get("strong_convexity", "-infinity"))
        return n, norm, radius, (curved + ridge, convex + ridge, min(spread, 2.0 * largest), largest)
    reach, residual = norm * radius, norm * radius + label
    if loss == "logistic":
        curvature, slope, spread = 0.25, 1.0, 2.0 * logistic_height(reach)
    elif loss == "softmax":
        curvature, slope, spread = 0.5, ROOT2, softmax_height(reach, model["classes"])
    elif loss in ("ridge", "lasso", "polynomial", "huber", "power"):
        steeper = residual ** (degree - 2.0) if loss == "power" else 1.0
        curvature, slope = (degree - 1.0) * steeper if loss == "power" else 1.0, steeper * residual
        slope = min(real(model["threshold"]), residual) if loss == "huber" else slope
        spread = 2.0 * squared_height(reach, label) * steeper
    else:
        refuse(f"the loss {loss}, which this program does not know")
    smoothness, largest = curvature * norm * norm + ridge, min(slope, clip) * norm
    convexity = -smoothness if loss == "softmax" and clip < slope else ridge
    return n, norm, radius, (smoothness, convexity, min(norm * spread * (1.0 + 1e-12), 2.0 * largest), largest)

def weights(network, learners, taken):
    """|w_ii| of every learner."""
    shape, kind = network["topology"], network.get("weights", "uniform")
    if shape in ("random-regular", "erdos-renyi"):
        return taken.add("the weights of the random graph") or [None] * learners
    width, listed, every = network.get("columns", learners), network.get("edges", []), range(learners)
    right, below = [(i, i - i % width + (i + 1) % width) for i in every], [(i, (i + width) % learners) for i in every]
    pairs = {"alone": [], "ring": right, "path": right[:-1], "star": [(0, i) for i in every[1:]], "torus": right + below,
             "complete": combinations(every, 2), "edges": [map(int, edge[:2]) for edge in listed]}[shape]
    pairs = sorted({tuple(sorted(pair)) for pair in pairs})
    given = {tuple(sorted(map(int, edge[:2]))): edge[2] for edge in listed} if kind == "explicit" else {}
    degree, sums = Counter(i for pair in pairs for i in pair), [0.0] * learners
    for pair in pairs:
        shared = 1.0 / (1.0 + max(degree[i] for i in pair)) if kind == "metropolis" else network.get("weight")
        for i in pair:
            sums[i] += real(given[pair] if kind == "explicit" else shared)
    return sums

def memory_facts(agreement, n, norm, radius, largest, taken):
    """The memory's error, None where it is not computed here, and how it forgets."""
    memory, loss, unit = agreement.get("memory", {}), agreement["model"]["loss"], 2.0**-53
    kind, nodes = memory.get("kind", "exact"), 1.0 + (agreement["model"]["degree"] if loss == "power" else 2)
    if kind == "window" or agreement.get("method") in ("dsgd", "dola", "pdop"):
        return (0.0, 0.0), {"kind": "window", "rounds": memory.get("window", 1)}
    if kind == "decaying":
        factor, decaying = real(memory["factor"]), loss in ("ridge", "lasso", "polynomial")
        rounds = None if decaying else math.floor(math.log(memory["cutoff"]) / math.log(factor) * (1.0 + 1e-12)) + 1
        error = unit * ((n + 8) * norm**2 * radius + 8.0 * norm * real(agreement["bounds"]["label"])) if decaying else 0.0
        return (error, 0.0), {"kind": "decaying", "factor": factor, "rounds": rounds}
    if kind == "polynomial":
        taken.add("the error of the polynomial memory's fit")
    return {"anchored": lambda: (real(memory["tolerance"]), -real(memory["tolerance_exponent"])),
            "recursive": lambda: (unit * 32.0 * nodes * (1.0 + 2.0 / math.pi * math.log(nodes)) * largest, 0.0),
            "polynomial": lambda: (None, 0.0)}.get(kind, lambda: (0.0, 0.0))(), {"kind": "never"}

def law(initial, exponent):
    return {"initial": initial, "exponent": exponent}
def each(value, learners):  # one number for all learners, or a list with one for each
    values = [real(one) for one in value] if isinstance(value, list) else [real(value)] * learners
    return values if len(values) == learners else refuse(f"{len(values)} numbers for {learners} learners")

def facts_of(agreement, taken):
    """What an agreement says of each learner; None where this program does not compute a fact."""
    schedule, noise, records = agreement["schedule"], agreement["noise"], agreement.get("records", {})
    learners, method = count(agreement["network"]["learners"]), agreement.get("method", "algorithm1")
    n, norm, radius, constants = loss_facts(agreement, taken)
    error, forgetting = memory_facts(agreement, n, norm, radius, constants[3], taken)
    settings = {"algorithm1": {"bound": agreement["privacy"].get("bound", "tight")},
                "shielded": {"interval": schedule.get("interval", 1), "momentum": schedule.get("momentum", 0.0)},
                "pdop": {"step_ratio": schedule.get("step_ratio"), "noise_ratio": noise.get("ratio")}}
    scales, exponents = each(noise["scale"], learners), each(noise["exponent"], learners)
    heard = weights(agreement["network"], learners, taken)
    taken.add("the noise scales of round 0, which the agreement states, however they were chosen")
    falling = {key: law(real(schedule[key]), -real(schedule[key + "_exponent"])) for key in ("step", "coupling")}
    for weight, scale, exponent in zip(heard, scales, exponents):
        yield {"dimension": n, "radius": radius, "constants": dict(zip(CONSTANTS, constants)), "schedule": falling,
               "weight": weight, "weight_min": weight if weight is None else min(heard),
               "warmup": records.get("warmup", 0), "batch": records.get("batch", 1), "memory_error": law(*error),
               "forgetting": forgetting, "noise": {"kind": noise["kind"], "scale": law(scale, exponent)},
               "noise_max": law(max(scales), max(0.0, *exponents)), "method": {"name": method} | settings.get(method, {})}
def new_entry(round_, weight, sensitivity=0.0, paid=(0.0, 0.0)):
    return SimpleNamespace(round=round_, weight=weight, sensitivity=sensitivity, paid=paid)
def both(old, new):  # an entry that pays no less than either
    most = max(old.weight, new.weight), max(old.sensitivity, new.sensitivity)
    return new_entry(new.round, *most, tuple(map(max, old.paid, new.paid)))
def must(where, agrees, what):
    if not agrees:
        raise Disagreement(where + what)
def compare(found, expected, path):
    """Every fact that was computed is close to the one stated, and every other is the same."""
    if isinstance(expected, dict):
        for key in expected:
            compare(found.get(key), expected[key], f"{path}.{key}")
    elif expected is not None:
        same = found == expected or type(found) is float and is_close(found, expected)
        must("", same, f"{path} is {found}, the agreement implies {expected}")

# --- The account (ADRs 4, 6, 9, 11, 12 and 17; in one place in ADR 27) -----------------------------------------------
class Account:
    """The entries: for the records of each round how far θ depends on one, its weight, and what it has paid."""
    def __init__(self, facts):
        self.facts, self.method, self.constants = facts, facts["method"]["name"], facts["constants"]
        self.carries, self.forgets = self.method in ("algorithm1", "dsgd"), facts["forgetting"]["kind"] != "never"
        self.factor, self.limit = facts["forgetting"].get("factor", 1.0), facts["forgetting"].get("rounds")
        self.entries = [] if self.forgets else [new_entry(0, 0.0)]
        self.records, self.arrivals, self.total, self.last = 0, [], 0.0, 0
    def law(self, law, round_, ratio=1.0):
        return law["initial"] * (round_ + 1.0) ** law["exponent"] * self.facts["method"].get(ratio, 1.0) ** round_
    def noise(self, round_):
        return self.law(self.facts["noise"]["scale"], round_, "noise_ratio")
    def coupling(self, round_):
        return self.law(self.facts["schedule"]["coupling"], round_)
    def is_charged(self, round_):
        return round_ > 0 and self.method != "local" and round_ % self.facts["method"].get("interval", 1) == 0
    def machine(self, round_):
        facts, n, smoothness = self.facts, self.facts["dimension"], self.constants["smoothness"]
        if self.method == "shielded":
            curved = (n / 4.0 + 4.0) * smoothness * facts["radius"] if smoothness < INF else 0.0
            return 2.0**-51 * (curved + 40.0 * self.constants["gradient_norm"])
        messages = 128.0 * facts["weight"] * self.coupling(round_) * self.law(facts["noise_max"], round_)
        return math.sqrt(n) * 2.0**-50 * (facts["radius"] + messages)
    def cost(self, sensitivity, round_, machine):
        """(pure ε, zCDP) of a release, for a record with this sensitivity."""
        if not self.is_charged(round_) or (not self.carries and sensitivity <= 0.0):
            return 0.0, 0.0
        ratio = (sensitivity + machine) / self.noise(round_)
        pure = math.sqrt(self.facts["dimension"]) * ratio if self.facts["noise"]["kind"] == "laplace" else INF
        return pure * ROUNDED_UP, 0.5 * ratio * ratio * ROUNDED_UP
    def most(self):
        return tuple(max((entry.paid[i] for entry in self.entries), default=0.0) for i in (0, 1))
    def sensitivity(self):
        return max((entry.sensitivity for entry in self.entries), default=0.0)
    def pay(self, round_, carried):
        """Charges every record; what the release costs the record that it depends on most."""
        machine = max(self.machine(round_), carried)
        for entry in self.entries:
            entry.paid = tuple(map(sum, zip(entry.paid, self.cost(entry.sensitivity, round_, machine))))
        return self.cost(self.sensitivity(), round_, machine)
    def advance(self, round_, heard, records):
        """The step of a round: weights and sensitivities change."""
        length, a = self.law(self.facts["schedule"]["step"], round_, "step_ratio"), self.coupling(round_) * heard
        bend, bound = length * self.constants["smoothness"], self.facts["method"].get("bound")
        contraction, idle = bend if self.method == "dsgd" else 0.0, abs(1.0 - a) if bound else 0.0
        if bound == "tight":
            contraction = max(abs(1.0 - a - bend), abs(1.0 - a - length * self.constants["strong_convexity"]))
        elif bound:
            contraction = max(abs(1.0 - min(a, self.coupling(round_) * self.facts["weight_min"])), idle) + bend
        if self.method in ("shielded", "local"):
            length = 1.0 if self.is_charged(round_ + 1) else 0.0
        reach = length * self.constants["gradient_spread"] if length > 0.0 else 0.0
        if not self.forgets:
            self.entries[0].weight = 1.0 / max(records, 1)
        elif self.weigh(round_, max(records - self.records, 0)):
            contraction = max(contraction, idle)
        self.records = max(self.records, records)
        for entry in self.entries:
            drive = reach * (entry.weight > 0.0 if bound == "theorem5i" else entry.weight)
            carried = contraction * entry.sensitivity if entry.sensitivity > 0.0 else 0.0
            entry.sensitivity = carried + drive + 2.0 * length * self.law(self.facts["memory_error"], round_)
        if self.forgets:
            self.merge(round_, contraction, reach)
    def weigh(self, round_, arrived):  # the weights of ADR 11; whether no record has any
        passed, self.last = round_ - self.last, round_
        if self.limit is None:
            older = self.total * self.factor**passed
            self.total = older + arrived
            for entry in self.entries if arrived else ():
                entry.weight *= older / self.total
        else:
            self.arrivals = [(k, n) for k, n in self.arrivals + [(round_, arrived)] if round_ - k < self.limit]
            self.total = sum(n * self.factor ** (round_ - k) for k, n in self.arrivals)
            for entry in self.entries:
                age = round_ - entry.round
                entry.weight = self.factor**age / self.total if age < self.limit else 0.0
        if arrived:
            self.entries.append(new_entry(round_, 1.0 / self.total))
        return not self.entries if self.limit is None else self.total <= 0.0
    def merge(self, round_, contraction, reach):
        """Merges entries as ADR 11's lemma allows, by the rules of ADR 27."""
        spent, may = self.most(), self.is_charged(round_ + 1) and contraction < 1.0
        machine = 0.0 if self.carries else self.machine(round_ + 1)
        def due(one, rise):
            return self.cost(one.sensitivity + rise, round_ + 1, machine)
        def is_faint(one):
            cost, share = due(one, reach * one.weight / (1.0 - contraction)), 2.0**-30 / (round_ + 1)
            return cost[0] in (INF, min(cost[0], share * spent[0])) and cost[1] <= share * spent[1]
        def is_minor(one):
            later = [paid + 2.0 * cost / (1.0 - contraction) for paid, cost in zip(one.paid, due(one, 0.0))]
            return all(most == INF or paid <= 0.5 * most for paid, most in zip(later, spent))
        while len(self.entries) > 1 and (len(self.entries) > ENTRIES_MAX or may and all(map(is_faint, self.entries[:2]))):
            self.entries[:2] = [both(*self.entries[:2])]
        gone = sum(entry.weight <= 0.0 for entry in self.entries)
        while may and gone >= 2 and is_minor(merged := both(*self.entries[gone - 2 : gone])):
            self.entries[gone - 2 : gone], gone = [merged], gone - 1

# --- From the account to ε at δ (ADRs 4 and 25) ----------------------------------------------------------------------
ROOT_2PI = Decimal("2.50662827463100050241576528481104525300698674060993831662992357")
def mills(z):
    """(1 − Φ(z))/φ(z): Laplace's continued fraction, and for small z the series of (Φ(z) − ½)/φ(z)."""
    odd, term, total = 1, z, z
    if abs(z) > 2:
        for k in range(60 + int((70 / z) ** 2), 0, -1):
            total = abs(z) + k / abs(total)
        return 1 / total if z > 0 else (z * z / 2).exp() * ROOT_2PI - 1 / total
    while abs(term) > Decimal("1e-70"):
        odd, term = odd + 2, term * z * z / (odd + 2)
        total += term
    return (z * z / 2).exp() * ROOT_2PI / 2 - total
def gaussian_epsilon(zcdp, delta):
    """The root of δ = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), μ = √(2ρ), with 60 digits."""
    mu, target = (2 * Decimal(zcdp)).sqrt(), Decimal(delta)
    def is_enough(epsilon):
        x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
        return (-x * x / 2).exp() / ROOT_2PI * (mills(x) - mills(y)) <= target
    if zcdp in (0.0, INF) or is_enough(Decimal(0)):
        return INF if zcdp == INF else 0.0
    low, high = Decimal(0), mu * mu / 2 + mu * (-2 * target.ln()).sqrt()
    while high - low > high * Decimal("1e-14"):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return float(high)
def zcdp_epsilon(zcdp, delta):
    """The least ρα + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α − 1) over α = 1 + e^t."""
    if zcdp in (0.0, INF):
        return zcdp
    def at(t):
        return zcdp + zcdp * (e := math.exp(t)) - math.log1p(1.0 / e) + (-math.log(delta) - math.log1p(e)) / e
    low, high = (0.5 * math.log(-math.log(delta) / zcdp) + reach for reach in (-9.0, 3.0))
    for _ in range(200):
        left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (low, right) if at(left) < at(right) else (left, high)
    return max(min(at(low), zcdp + 2.0 * math.sqrt(zcdp * -math.log(delta))), 0.0)
def epsilon_at(delta, cost, noise):
    return gaussian_epsilon(cost[1], delta) if noise == "gaussian" else min(zcdp_epsilon(cost[1], delta), cost[0])

# --- Checking --------------------------------------------------------------------------------------------------------
def is_over(privacy, learners, learner, noise, cost, share):  # whether a total is over the cap by more than a share of it
    limit = each(privacy.get("epsilon", privacy.get("pure_epsilon", "infinity")), learners)[learner] * (1.0 + share)
    return (cost[0] if "pure_epsilon" in privacy else epsilon_at(real(privacy["delta"]), (INF, cost[1]), noise)) > limit
def check_ledger(learner, facts, receipts, is_over):
    """Follows the account through the receipts, and gives it back."""
    account, totals, due, records = Account(facts), [], 0, 0
    previous = hashed("undertone ledger 2", (learner, count), (facts, FACTS))
    fields = ("sensitivity", "noise_scale", "pure_cost", "zcdp_cost", "pure_total", "zcdp_total")
    for receipt in receipts:
        round_, heard, arrived, first = receipt["round"], receipt["weight_heard"], receipt["records"], not totals
        check = partial(must, f"round {round_}: ")
        check(receipt["learner"] == learner, f"a receipt of learner {receipt['learner']}")
        in_step = (round_ - due) % facts["method"].get("interval", 1) == 0
        check(in_step and due <= round_ < ROUND_LIMIT, f"expected round {due} or later")
        check(receipt["previous"] == previous, "the chain is broken: it does not carry the hash of the receipt before")
        heard_most = facts["weight"] * (1.0 + TOLERANCE) * (not first)
        check(0.0 <= heard <= heard_most, f"weight_heard = {heard} is impossible")
        check(records <= arrived <= 2**64 * (not first), f"records = {arrived} is impossible")
        account.advance(due - 1, heard, arrived) if not first else None
        cost = account.pay(round_, account.machine(due) if round_ > due else 0.0)
        totals.append(account.most())
        for field, value in zip(fields, (account.sensitivity(), account.noise(round_), *cost, *totals[-1])):
            found = or_infinite(receipt[field])
            check(is_close(found, value), f"{field} is {found}, the agreement implies {value}")
        previous, due, records = hashed("undertone receipt 2", (receipt, RECEIPT)), round_ + 1, arrived
    for receipt, total in zip(receipts, totals) if is_over(account.most(), TOLERANCE) else ():
        must(f"round {receipt['round']}: ", not is_over(total, TOLERANCE), "released although the cap forbids it")
    return account
def could_refuse(account, receipts, is_over):
    """Whether a learner may have been refused the round after its last receipt."""
    last, found = receipts[-1], False
    for records in {max(last["records"] + more, account.facts["warmup"] + 1) for more in (0, 1)}:
        later = copy.deepcopy(account)
        later.advance(last["round"], account.facts["weight"], records)
        later.pay(last["round"] + 1, 0.0)
        found = found or is_over(later.most(), -TOLERANCE)
    return found

def check_learner(bundle, learner, facts, longest):
    number, mechanism, receipts, uses = (learner[key] for key in ("learner", "mechanism", "receipts", "uses"))
    noise, delta = mechanism["noise"]["kind"], real(bundle["agreement"]["privacy"]["delta"])
    must("", number < len(facts), "the agreement has no such learner")
    must("", uses > 0, "uses is 0, and must be 1 at least")
    compare(mechanism, facts[number], "mechanism")
    over = partial(is_over, bundle["agreement"]["privacy"], len(facts), number, noise)
    account, missing = check_ledger(number, mechanism, receipts, over), longest - len(receipts)
    refused = missing == 1 and bundle["simulation"]["exhausted"] and receipts and could_refuse(account, receipts, over)
    must("", missing == 0 or refused, f"ends after {len(receipts)} receipts, other learners have {longest}")
    once, more = account.most(), ROUNDED_UP if uses > 1 else 1.0
    pure, zcdp = uses * once[0] * more, uses**2 * once[1] * more
    for field, value in zip(SPENT, (pure, zcdp, epsilon := epsilon_at(delta, (pure, zcdp), noise), delta)):
        same = is_close(found := learner["spent"][field], value) or abs(found - value) <= 1e-14
        must("", same, f"spent.{field} is {found}, the agreement implies {value}")
    shown = Decimal(epsilon).quantize(Decimal("0.0001"), ROUND_CEILING) if epsilon < INF else "no bound"
    return f"{len(receipts)} receipts agree, ε = {shown} at δ = {delta}"

def check_contents(data):
    """Prints what was found. Returns whether all agrees."""
    bundle = shaped(json.loads(data, object_pairs_hook=unique, parse_constant=refuse, parse_float=finite), BUNDLE)
    (bundle["format"], bundle["version"]) == (FORMAT, VERSION) or refuse(f"not an {FORMAT} of version {VERSION}")
    learners, taken, found = bundle["learners"], {"the network's id, which only Undertone computes"}, []
    facts = list(facts_of(bundle["agreement"], taken))
    numbers, longest = [one["learner"] for one in learners], max((len(one["receipts"]) for one in learners), default=0)
    whole = numbers == list(range(len(facts))) if bundle["simulation"] else len(numbers) == 1
    found += ["DISAGREES: learners are missing or repeated"] * (not whole)
    found += [f'DISAGREES: the unit of privacy is not "{UNIT}"'] * (bundle["unit"] != UNIT)
    for learner in learners:
        try:
            found.append(f"learner {learner['learner']}: {check_learner(bundle, learner, facts, longest)}")
        except Disagreement as disagreement:
            found.append(f"learner {learner['learner']}: DISAGREES: {disagreement}")
    print(*found, f"unit: {bundle['unit']}", *filter(None, [bundle["warning"]]), sep="\n")
    print("Taken from the bundle as they are:", *sorted(taken), sep="\n- ")
    return not any("DISAGREES" in line for line in found)

def main(arguments):
    unchanged = True
    try:
        with open(*arguments or refuse(__doc__.splitlines()[2].strip()), "rb") as file:
            data = file.read()
        sealed, stated = data[: -64 - len(END)], data[-64 - len(END) : -len(END)]
        if not (data.endswith(END) and sealed.endswith(SEAL)):
            refuse("no audit bundle, or one that was cut off: it does not end with its hash")
        unchanged = hashlib.sha256(sealed).hexdigest().encode() == stated
        if not unchanged:
            print("DISAGREES: the file was changed: its hash is not that of its contents")
        return 0 if check_contents(data) and unchanged else 1
    except Exception as error:  # whatever is wrong with a file that others made
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2 if unchanged else 1

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
