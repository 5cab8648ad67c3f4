#!/usr/bin/env bash
# The result table of the README: test accuracy at several certified lifetime budgets, seeds 1 to 5.
# Algorithm 1 runs with the settings of its preset, the shielded method with those that the planner chooses for each budget.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked
undertone="${CARGO_TARGET_DIR:-target}/release/undertone"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo "| ε for ever | Algorithm 1 | shielded | no privacy at all |"
echo "|---|---|---|---|"
for epsilon in 8 4 2 1; do
  "$undertone" plan --preset shielded-mushrooms --epsilon "$epsilon" --tune --records 1100 \
    --out "$folder/shielded-$epsilon.toml" > /dev/null
  for seed in 1 2 3 4 5; do
    "$undertone" simulate --json --seed "$seed" --epsilon "$epsilon" \
      --out "$folder/algorithm1-$epsilon-$seed" > "$folder/algorithm1-$epsilon-$seed.json"
    "$undertone" simulate "$folder/shielded-$epsilon.toml" --json --seed "$seed" \
      --out "$folder/shielded-$epsilon-$seed" > "$folder/shielded-$epsilon-$seed.json"
  done
  python3 - "$epsilon" "$folder" <<'PYTHON'
import json, sys
epsilon, folder = sys.argv[1:]
cells = []
for method, key in (("algorithm1", "public"), ("shielded", "public"), ("shielded", "optimum")):
    runs = [json.load(open(f"{folder}/{method}-{epsilon}-{seed}.json")) for seed in range(1, 6)]
    values = [run["last"][f"test_accuracy_{key}"] for run in runs]
    cells.append(f"{sum(values) / 5:.3f} ({min(values):.3f} to {max(values):.3f})")
    assert all(learner["lifetime"]["epsilon"] <= float(epsilon) for run in runs for learner in run["learners"])
print(f"| {epsilon} | {' | '.join(cells)} |")
PYTHON
done
