#!/usr/bin/env bash
# The commands of the README as a newcomer would run them, in a folder of their own.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked
undertone="${CARGO_TARGET_DIR:-$PWD/target}/release/undertone"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

"$undertone" simulate --quiet --rounds 60
"$undertone" simulate --quiet --preset paper-mushrooms --rounds 60 --seed 1 --out paper
"$undertone" new first
"$undertone" budget first.toml
"$undertone" simulate first.toml --rounds 40 --json --out first > first.json
for file in config.toml rounds.csv summary.json model.safetensors report.html; do
  test -s "runs/mushrooms-1/$file"
done
grep -q "NOT PRIVATE" paper/report.html
echo "smoke: fine"
