#!/usr/bin/env bash
# The tables of docs/drift.md: prequential accuracy on the electricity data, whole history against memories
# that forget, at the same certified budget; and River, if the given Python has it.
#
#   bash scripts/drift.sh path/to/elec.csv [python with river]
#
# SEEDS (default "1 2 3") and EPSILONS (default "0.5 1 4") may be set. Seeded runs are NOT PRIVATE.
set -euo pipefail
data=$(realpath "${1:?the path of elec.csv; docs/drift.md says where to get it}")
python=${2:-python3}
seeds=${SEEDS:-1 2 3}
epsilons=${EPSILONS:-0.5 1 4}
cd "$(dirname "$0")/.."
expected=ebdfe5480ae25a43a7d054286135e3a9484697a2850d5158a333b1578c28bb97
if [ "$(sha256sum < "$data" | cut -d' ' -f1)" != "$expected" ]; then
  echo "$data is another file than elec.csv of scikit-multiflow 0.4.1" >&2
  exit 2
fi
cargo build --release --locked --quiet
undertone="${CARGO_TARGET_DIR:-target}/release/undertone"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Features are shifted and scaled by rounded public numbers, row by row. Nothing is computed from records.
awk -F, -v OFS=, 'BEGIN { split("0.5 0.06 0.43 0.0035 0.42 0.5", centre, " ")
                          split("0.3 0.04 0.16 0.01 0.12 0.15", width, " ") }
  NR > 1 { for (i = 1; i <= 6; i++) { x = ($i - centre[i]) / width[i]; $i = x > 3 ? 3 : x < -3 ? -3 : x } }
  { print }' "$data" > "$folder/scaled.csv"

# What all runs share: five learners get the records in turn, in order of time: first 500 each, then 10 a round.
config() { # name, memory, schedule, noise, privacy
  cat <<TOML
name = "$1"
rounds = 856
unproven = true
[network]
learners = 5
topology = "complete"
weight = 0.19
[data]
source = "scaled.csv"
partition = "in-order"
[records]
label = "target"
intercept = true
warmup = 500
batch = 10
[bounds]
feature_norm = 2.0
out_of_bounds = "scale"
[model]
loss = "logistic"
features = 7
ridge = 0.001
[parameters]
set = "ball"
radius = 20.0
[memory]
$2
[schedule]
$3
[noise]
kind = "laplace"
$4
[privacy]
delta = 1e-6
$5
TOML
}
constant=$'step = 0.3\nstep_exponent = 0.0\ncoupling = 0.5\ncoupling_exponent = 0.0'
theorem=$'step = 1.0\nstep_exponent = 0.72\ncoupling = 1.0\ncoupling_exponent = 0.56'

configs() { # noise given a noise exponent, privacy, a word for the names
  config "theorem-$3" 'kind = "exact"' "$theorem" "exponent = 0.05"$'\n'"$1" "$2" > "$folder/theorem-$3.toml"
  config "full-$3" 'kind = "exact"' "$constant" "exponent = 0.0"$'\n'"$1" "$2" > "$folder/full-$3.toml"
  config "window-$3" $'kind = "window"\nwindow = 50' "$constant" "exponent = 0.0"$'\n'"$1" "$2" > "$folder/window-$3.toml"
  config "decaying-$3" $'kind = "decaying"\nfactor = 0.97' "$constant" "exponent = 0.0"$'\n'"$1" "$2" > "$folder/decaying-$3.toml"
}
for epsilon in $epsilons; do
  configs 'calibrate = "lifetime"' "epsilon = $epsilon" "$epsilon"
done
configs 'scale = 1e-6' '' none

for config in "$folder"/*.toml; do
  for seed in $seeds; do
    "$undertone" simulate "$config" --json --seed "$seed" --out "$folder/run" > "${config%.toml}-$seed.json"
    "$undertone" verify "$folder/run" > /dev/null
    rm -r "$folder/run"
  done
done

python3 - "$folder" "$seeds" "$epsilons" <<'PYTHON'
import json, sys
folder, seeds, epsilons = sys.argv[1], sys.argv[2].split(), sys.argv[3].split()
print(f"Prequential accuracy, mean (least to most) of {len(seeds)} runs.\n")
print("| memory | " + " | ".join(f"ε = {e} for ever" for e in epsilons) + " | almost no noise |")
print("|---" * (len(epsilons) + 2) + "|")
names = {"theorem": "whole history, steps as the theorems want", "full": "whole history, constant steps",
         "window": "window of 50 rounds", "decaying": "decaying, factor 0.97"}
for kind, name in names.items():
    cells = []
    for epsilon in epsilons + ["none"]:
        runs = [json.load(open(f"{folder}/{kind}-{epsilon}-{seed}.json")) for seed in seeds]
        for run in runs if epsilon != "none" else []:
            for learner in run["learners"]:
                assert learner["lifetime"]["epsilon"] <= float(epsilon) * (1 + 1e-12), learner
                assert learner["epsilon"] <= float(epsilon) and not learner["ran_dry"], learner
        values = [run["prequential_accuracy"] for run in runs]
        cells.append(f"{sum(values) / len(values):.4f} ({min(values):.4f} to {max(values):.4f})")
    print(f"| {name} | {' | '.join(cells)} |")
PYTHON

echo
"$undertone" budget "$folder/window-${epsilons%% *}.toml" | sed -n '/What a record/,/worst/p'

# Not private: one stream in one place, with one step for each record, scored on the same records.
"$python" - "$data" <<'PYTHON'
import csv, sys
first, last = 5 * 500, 5 * (500 + 10 * 856)
rows = [({name: float(row[name]) for name in row if name != "target"}, row["target"] == "1")
        for row in csv.DictReader(open(sys.argv[1]))]
scored = range(first, last)
print(f"\nNot private, on the same {len(scored)} records:")
most = sum(rows[i][1] for i in scored) / len(scored)
print(f"  always the commoner class: {max(most, 1 - most):.4f}")
print(f"  the label of the record before: {sum(rows[i][1] == rows[i - 1][1] for i in scored) / len(scored):.4f}")
try:
    from river import linear_model, preprocessing
except ImportError:
    sys.exit("  River is not installed for this Python: no comparison with it")
model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
right = 0
for i, (features, label) in enumerate(rows[:last]):
    if i >= first:
        right += bool(model.predict_one(features)) == label
    model.learn_one(features, label)
print(f"  River LogisticRegression after StandardScaler: {right / len(scored):.4f}")
PYTHON
