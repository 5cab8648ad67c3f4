#!/usr/bin/env bash
# Undertone beside its peers, in one run: bench-compare/run.sh [groups...]
#
# Installs the peers by name into bench-compare/environment, builds our side, runs all
# in turns, and writes bench-compare/results.json, docs/performance.md and docs/img/performance.png.
# QUICK=1 makes three repetitions instead of seven.
set -euo pipefail
cd "$(dirname "$0")"
environment="$PWD/environment"
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
# shellcheck disable=SC1091
. "$environment/bin/activate"
python -m pip install --quiet --upgrade pip
python -m pip install --quiet -r requirements.txt ../crates/undertone-py
cargo build --quiet --release --manifest-path ours/Cargo.toml
python -W ignore compare.py "$@"
