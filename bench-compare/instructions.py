#!/usr/bin/env python3
"""Instructions of the round, the sampler, the account and the wire, counted by callgrind: the same whatever the machine does.

    bench-compare/instructions.py            compares with bench-compare/instructions.json; exit code 1 if 3 % more
    bench-compare/instructions.py --update   writes that file

Compared is each count with the one stored: "+4.0 %" is that much more work than when it was stored, "new" is not stored yet.
Counts depend on the compiler and on what the processor offers, as the samplers choose by it: store them where you compare.

Needs valgrind, and `cargo build --release --manifest-path bench-compare/ours/Cargo.toml`.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE / "ours" / "target"))
STORED = HERE / "instructions.json"
#: Items in the smaller of two runs; the other has twice as many, and the difference is that of the work alone.
WORK = {
    "laplace-1000": 200,
    "gaussian-1000": 200,
    "account": 20_000,
    "round-moments-112": 200,
    "round-anchored-112": 1000,
    "round-window-112": 200,
    "round-exact-112": 200,
    "learn-112": 3_200,
    "decode-112": 2_000,
    "decode-50000": 20,
}


def instructions(what, count):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    command += [str(TARGET / "release" / "ours"), "count", what, str(count)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    return int(re.search(r"Collected : (\d+)", said).group(1))


def main():
    before = json.loads(STORED.read_text()) if STORED.exists() else {}
    found = {}
    slower = False
    for what, count in WORK.items():
        found[what] = round((instructions(what, 2 * count) - instructions(what, count)) / count)
        change = found[what] / before[what] - 1 if what in before else None
        slower |= change is not None and change > 0.03
        print(f"{what:20} {found[what]:12,} instructions each  {'new' if change is None else f'{change:+.1%}'}")
    if "--update" in sys.argv:
        STORED.write_text(json.dumps(found, indent=1) + "\n")
    elif slower:
        sys.exit(1)


main()
