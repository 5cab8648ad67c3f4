"""Runs our side and the peers in turns, and writes what was found: results.json, docs/performance.md, a picture.

    compare.py [beginnings of keys...]     QUICK=1: three repetitions instead of five
    compare.py --page                      only writes the page and the picture again, from results.json
"""

import json
import os
import statistics
import subprocess
import sys

import machine
import report
from groups import HERE, all_groups

RESULTS = HERE / "results.json"
QUICK = os.environ.get("QUICK", "") not in ("", "0")
#: One contestant that takes longer has failed.
TIMEOUT_SECONDS = 900


def repetitions(group):
    wanted = int(os.environ.get("REPETITIONS", 3 if QUICK else 5))
    return min(wanted, 3) if group.heavy else wanted


def measure(command, repetition):
    words = [word.replace("{repetition}", str(repetition)) for word in command.words]
    said = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, cwd=HERE / "peers")
    if said.returncode != 0:
        why = said.stderr.strip()[-2000:] or f"ended with exit code {said.returncode}"
        raise RuntimeError(f"{' '.join(words)}:\n{why}")
    try:
        number = float(said.stdout.split()[-1])
        return 1.0 / number if command.inverse else number
    except (IndexError, ValueError, ZeroDivisionError) as error:
        raise RuntimeError(f"{' '.join(words)}:\nsaid no number: {said.stdout[-200:]!r}") from error


def run(group):
    found = {name: [] for name in group.contestants}
    failed = {}
    where = machine.described()
    for repetition in range(repetitions(group)):
        for name, command in group.contestants.items():
            if name in failed:
                continue
            try:
                found[name].append(measure(command, repetition))
            except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                print(error, file=sys.stderr)
                failed[name] = str(error).strip().splitlines()[-1].replace(str(HERE), "bench-compare")
    result = {
        name: {"median": statistics.median(values), "least": min(values), "most": max(values), "repetitions": len(values)}
        for name, values in found.items()
        if values
    }
    print(f"{group.title}: " + ", ".join(f"{name} {value['median']:.4g} {group.unit}" for name, value in result.items()), flush=True)
    return {"title": group.title, "unit": group.unit, "found": result, "failed": failed, "machine": where}


def save(results):
    """Aside first: an interrupted run leaves what was there."""
    aside = RESULTS.with_suffix(".new")
    aside.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    aside.replace(RESULTS)


def main():
    wanted = sys.argv[1:]
    groups = list(all_groups())
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"groups": {}}
    if wanted != ["--page"]:
        unknown = [word for word in wanted if not any(group.key.startswith(word) for group in groups)]
        if unknown:
            print("no such group:", ", ".join(unknown), file=sys.stderr)
            sys.exit(2)
        for group in groups:
            if not wanted or any(group.key.startswith(word) for word in wanted):
                results["groups"][group.key] = run(group)
                save(results)
    report.write(results)


main()
