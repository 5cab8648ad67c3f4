"""docs/performance.md and its picture, from the results."""

from groups import HERE, all_groups

DOCS = HERE.parent / "docs"
#: A system within this is not called ahead: runs differ by more.
LEVEL = 0.02


def write(results):
    groups = [group for group in all_groups() if results["groups"].get(group.key, {}).get("found")]
    (DOCS / "performance.md").write_text(page(results, groups))
    picture(goals_of(results, groups))


def own_number(group, results):
    found = results["groups"][group.key]["found"]
    first = next(iter(group.contestants))
    return found.get(first, {}).get("median")


def ratio(group, results, name, against=None):
    """Ours, or the one named, over the best of those in `name`, which are divided by " | "."""
    found = results["groups"][group.key]["found"]
    own = own_number(group, results) if against is None else found.get(against, {}).get("median")
    others = [found[one]["median"] for one in name.split(" | ") if one in found]
    if own is None or not others:
        return None
    return own / (min(others) if group.less_is_better else max(others))


def judged(group, results, name, better):
    """Met or not by medians; marked where the least and the most over the repetitions would say otherwise."""
    found = results["groups"][group.key]["found"]
    own = found[next(iter(group.contestants))]
    if name is None:
        worst, best = (own["most"], own["least"]) if group.less_is_better else (own["least"], own["most"])
        goal = group.limit
    else:
        pick = min if group.less_is_better else max
        other = pick((found[one] for one in name.split(" | ") if one in found), key=lambda one: one["median"])
        shares = own["least"] / other["most"], own["most"] / other["least"]
        worst, best = shares[::-1] if group.less_is_better else shares
        goal = group.goals[name]
    good = (lambda value: value <= goal) if group.less_is_better else (lambda value: value >= goal)
    if good(worst) != good(best):
        return "met, within the spread" if better >= 1 else "**not met**, within the spread"
    return "met" if better >= 1 else "**not met**"


def goals_of(results, groups):
    """For each goal: group, goal, result, and how many times better than the goal the result is."""
    word = {True: "at most", False: "at least"}
    for group in groups:
        own = own_number(group, results)
        if group.limit is not None and own is not None:
            yield group, f"{word[group.less_is_better]} {group.limit:g} {group.unit}", f"{number(own)} {group.unit}", group.limit / own, judged(group, results, None, group.limit / own)
        for name, goal in group.goals.items():
            share = ratio(group, results, name)
            if share is not None:
                better = goal / share if group.less_is_better else share / goal
                yield group, f"{word[group.less_is_better]} {goal:g} × {told(name)}", f"{number(share, 3)} ×{like_for_like(group, results, name)}", better, judged(group, results, name, better)


def told(name):
    """The name of a goal; of several forms of one system the fastest counts."""
    first, *others = name.split(" | ")
    return f"the faster {first.split(',')[0]} version" if others else first


def like_for_like(group, results, name):
    """The ratio of ours from the same language, beside the one that counts."""
    share = ratio(group, results, name, group.counterparts[name]) if name in group.counterparts else None
    return "" if share is None else f" (from Python {number(share, 3)} ×)"


def page(results, groups):
    goals = list(goals_of(results, groups))
    met = sum(better >= 1 for *_, better, _ in goals)
    lines = [
        "# Performance, compared with other systems",
        "",
        "Made by `bench-compare/run.sh`, text included. The systems of a group take turns on the same cores. The tables show medians, minima and maxima.",
        "Ratios mean more than numbers, because machines are shared and noisy. Groups may be of different runs: see the end of the page. Other systems compute without privacy unless it says otherwise; ours draws",
        "exact noise and pays for every step.",
        "",
        "## Goals",
        "",
        f"{met} of {len(goals)} met. \"×\" is our number divided by the other's.",
        "",
        "| | goal | result | |",
        "|---|---|---|---|",
    ]
    lines += [f"| {group.title} | {goal} | {found} | {verdict} |" for group, goal, found, _, verdict in goals]
    lines += ["", "![Results compared with the goals](img/performance.png)", ""]
    lines += not_met(results, groups, goals)
    for group in groups:
        lines += section(group, results)
    lines += provenance(results, groups) + COMMANDS
    return "\n".join(lines) + "\n"


def not_met(results, groups, goals):
    lines = ["## Goals not met", ""]
    lines += [f"- {group.title}: {found}; goal: {goal}." for group, goal, found, better, _ in goals if better < 1]
    for group in groups:
        wanted = [name for name in group.goals if ratio(group, results, name) is None]
        wanted += ["its limit"] if group.limit is not None and own_number(group, results) is None else []
        lines += [f"- {group.title}: the goal against {name} could not be checked, because a number is missing." for name in wanted]
        for name in group.contestants:
            against = group.counterparts.get(name, next(iter(group.contestants)))
            share = None if group.own or name.startswith("ours") else ratio(group, results, name, against)
            if share is None or (name in group.goals and name not in group.counterparts):
                continue
            ahead = share > 1 + LEVEL if group.less_is_better else share < 1 - LEVEL
            if group.unit == "accuracy":
                ahead = share < 1 - LEVEL / 10
            if ahead:
                medians = results["groups"][group.key]["found"]
                numbers = f"{number(medians[name]['median'])} against {number(medians[against]['median'])} {group.unit} of \"{against}\""
                lines.append(f"- {group.title}: {name} is ahead, {numbers}. There is no goal.")
    if len(lines) == 2:
        lines.append("Every goal was met, and no other system is ahead.")
    failed = [(group, name, why) for group in groups for name, why in results["groups"][group.key]["failed"].items()]
    lines += [f"- {group.title}: {name} could not be run: `{why}`" for group, name, why in failed]
    absent = [group.title for group in all_groups() if group.key not in {one.key for one in groups}]
    if absent:
        lines += ["", "Not measured here: " + "; ".join(absent) + "."]
    return lines + [""]


def section(group, results):
    found = results["groups"][group.key]["found"]
    lines = [f"## {group.title}", ""]
    if group.note:
        lines += [group.note, ""]
    like = " ratio in the same language |" if group.counterparts else ""
    lines += [f"| | {group.unit}, median | min | max | runs | ratio ours / other |{like}", "|---|---|---|---|---|---|" + ("---|" if like else "")]
    first = next(iter(group.contestants))
    for name, value in found.items():
        cells = [number(value[key]) for key in ("median", "least", "most")]
        share = ratio(group, results, name)
        times = "" if name == first or share is None else number(share, 3)
        row = f"| {name} | {' | '.join(cells)} | {value.get('repetitions', '')} | {times} |"
        if like:
            same = ratio(group, results, name, group.counterparts[name]) if name in group.counterparts else None
            row += " |" if same is None else f" {number(same, 3)} |"
        lines.append(row)
    return lines + [""]


def number(value, digits=4):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def provenance(results, groups):
    """The machine, and of which commit, day and load each group is, where they differ."""
    machines = {group.key: results["groups"][group.key].get("machine", results.get("machine", {})) for group in groups}
    newest = max(machines.values(), key=lambda one: one.get("date", ""), default={})
    lines = machine_lines(newest)
    told = {}
    for key, one in machines.items():
        facts = (one.get("date", "unknown"), one.get("commit", "unknown"), one.get("processor", ""), one.get("load_before", "?"))
        told.setdefault(facts, []).append(key)
    lines += ["| day | commit | processor | load before | groups |", "|---|---|---|---|---|"]
    return lines + [f"| {' | '.join(map(str, facts))} | {', '.join(keys)} |" for facts, keys in sorted(told.items(), key=str)] + [""]


def machine_lines(machine):
    versions = ", ".join(f"{name} {version}" for name, version in machine.get("packages", {}).items())
    names = {"processor": "Processor", "cores": "cores", "memory": "memory", "kernel": "kernel", "rustc": "compiler", "python": "Python"}
    facts = [f"{names[key]}: {machine[key]}" for key in names if key in machine]
    lines = ["## Machine", "", "; ".join(facts) + "."]
    if versions:
        lines += ["", f"Packages: {versions}."]
    return lines + [""]


COMMANDS = """## Commands

```sh
bench-compare/run.sh                     # all of it; QUICK=1 for fewer repetitions
bench-compare/run.sh paper ridge cnn     # some groups, by the beginning of their keys in bench-compare/groups.py
bench-compare/instructions.py            # instructions of the core, which no load changes, against the stored counts
```""".splitlines()


def picture(goals):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = [(f"{group.title}\n{goal}: {found}", better) for group, goal, found, better, _ in goals]
    if not bars:
        return
    figure, axes = pyplot.subplots(figsize=(10, 0.42 * len(bars) + 1.2), layout="constrained")
    places = list(range(len(bars)))[::-1]
    values = [better for _, better in bars]
    colours = ["#1b7f5a" if better >= 1 else "#c2571a" for better in values]
    # Bars begin at the goal: to the right is better, to the left is worse.
    axes.barh(places, [value - 1 for value in values], left=1, color=colours, height=0.7)
    axes.set_yticks(places, [name for name, _ in bars], fontsize=7)
    axes.axvline(1.0, color="black", linewidth=1)
    low, high = min(0.5, min(values) / 1.6), max(2.0, max(values) * 1.6)
    axes.set(xscale="log", xlim=(low, high), ylim=(-0.6, len(bars) - 0.4), xlabel="times better than the goal (1 = just met)")
    axes.xaxis.set_major_formatter("{x:g}")
    for place, value in zip(places, values):
        axes.annotate(f"{value:.2g}", (value, place), xytext=(4 if value >= 1 else -4, 0), textcoords="offset points",
                      ha="left" if value >= 1 else "right", va="center", fontsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(DOCS / "img" / "performance.png", dpi=110)
