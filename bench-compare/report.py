"""docs/performance.md and its picture, from what was found."""

from groups import HERE, all_groups

DOCS = HERE.parent / "docs"
#: A peer within this is not said to be ahead: runs differ by more.
LEVEL = 0.02


def write(results):
    groups = [group for group in all_groups() if results["groups"].get(group.key, {}).get("found")]
    (DOCS / "performance.md").write_text(page(results, groups))
    picture(goals_of(results, groups))


def own_number(group, results):
    found = results["groups"][group.key]["found"]
    first = next(iter(group.contestants))
    return found.get(first, {}).get("median")


def ratio(group, results, name):
    own, other = own_number(group, results), results["groups"][group.key]["found"].get(name, {}).get("median")
    return None if own is None or other is None else own / other


def goals_of(results, groups):
    """For each goal: group, what was wanted, what was found, and how many times better than wanted that is."""
    word = {True: "at most", False: "at least"}
    for group in groups:
        own = own_number(group, results)
        if group.limit is not None and own is not None:
            yield group, f"{word[group.less_is_better]} {group.limit:g} {group.unit}", f"{number(own)} {group.unit}", group.limit / own
        for name, goal in group.goals.items():
            share = ratio(group, results, name)
            if share is not None:
                better = goal / share if group.less_is_better else share / goal
                yield group, f"{word[group.less_is_better]} {goal:g} × {name}", f"{number(share, 3)} ×", better


def page(results, groups):
    goals = list(goals_of(results, groups))
    met = sum(better >= 1 for *_, better in goals)
    lines = [
        "# Performance, beside the peers",
        "",
        "Made by `bench-compare/run.sh`, numbers and words both. The contestants of a group take turns on the same cores; shown are medians, with the least and the most.",
        "Ratios mean more than numbers, as machines are shared and noisy. Groups may be of different runs. Peers compute without privacy unless it says otherwise; ours draws exact noise",
        "and pays for every step.",
        "",
        "## Goals",
        "",
        f"{met} of {len(goals)} met. \"×\" is ours over the other's number.",
        "",
        "| | goal | found | |",
        "|---|---|---|---|",
    ]
    lines += [f"| {group.title} | {goal} | {found} | {'met' if better >= 1 else '**not met**'} |" for group, goal, found, better in goals]
    lines += ["", "![How far ours is from each goal](img/performance.png)", ""]
    lines += not_won(results, groups, goals)
    for group in groups:
        lines += section(group, results)
    lines += machine_lines(results.get("machine", {})) + COMMANDS
    return "\n".join(lines) + "\n"


def not_won(results, groups, goals):
    lines = ["## What was not won", ""]
    lines += [f"- {group.title}: {found}, {goal} was wanted." for group, goal, found, better in goals if better < 1]
    for group in groups:
        wanted = [name for name in group.goals if ratio(group, results, name) is None]
        wanted += ["its limit"] if group.limit is not None and own_number(group, results) is None else []
        lines += [f"- {group.title}: the goal against {name} could not be judged, as a number is missing." for name in wanted]
        for name in group.contestants:
            share = None if group.own or name.startswith("ours") else ratio(group, results, name)
            if share is None or name in group.goals:
                continue
            ahead = share > 1 + LEVEL if group.less_is_better else share < 1 - LEVEL
            if group.unit == "accuracy":
                ahead = share < 1 - LEVEL / 10
            if ahead:
                numbers = [own_number(group, results), results["groups"][group.key]["found"][name]["median"]]
                lines.append(f"- {group.title}: {name} is ahead, {number(numbers[1])} against {number(numbers[0])} {group.unit}. No goal was set.")
    if len(lines) == 2:
        lines.append("Every goal was met, and no peer is ahead.")
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
    lines += [f"| | {group.unit}, median | least | most | of | ours over it |", "|---|---|---|---|---|---|"]
    first = next(iter(group.contestants))
    for name, value in found.items():
        cells = [number(value[key]) for key in ("median", "least", "most")]
        share = ratio(group, results, name)
        times = "" if name == first or share is None else number(share, 3)
        lines.append(f"| {name} | {' | '.join(cells)} | {value.get('repetitions', '')} | {times} |")
    return lines + [""]


def number(value, digits=4):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"


def machine_lines(machine):
    versions = ", ".join(f"{name} {version}" for name, version in machine.get("packages", {}).items())
    names = {"processor": "Processor", "cores": "cores", "memory": "memory", "kernel": "kernel", "rustc": "compiler", "python": "Python"}
    facts = [f"{names[key]}: {machine[key]}" for key in names if key in machine]
    lines = ["## Machine", "", "; ".join(facts) + "."]
    if versions:
        lines += ["", f"Packages: {versions}."]
    if "load_before" in machine:
        lines += ["", f"Load before the last run: {machine['load_before']}."]
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

    bars = [(f"{group.title}\n{goal}: {found}", better) for group, goal, found, better in goals]
    if not bars:
        return
    figure, axes = pyplot.subplots(figsize=(10, 0.42 * len(bars) + 1.2), layout="constrained")
    places = list(range(len(bars)))[::-1]
    values = [better for _, better in bars]
    colours = ["#1b7f5a" if better >= 1 else "#c2571a" for better in values]
    # Bars begin at the goal: to the right is better than wanted, to the left is worse.
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
