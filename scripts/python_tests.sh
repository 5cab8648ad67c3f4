#!/usr/bin/env bash
# Builds the Python package in a separate environment and runs its tests with pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
environment="${1:-target/python}"
[ -x "$environment/bin/python" ] || python3 -m venv "$environment"
# shellcheck disable=SC1091
. "$environment/bin/activate"
python -m pip install --quiet --upgrade pip
python -m pip install --quiet './crates/undertone-py[test]'
# From a folder without the sources, so that the installed package is tested.
root="$PWD"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
cd "$environment"
python -m pytest -q -p no:cacheprovider "$root/crates/undertone-py/tests"
