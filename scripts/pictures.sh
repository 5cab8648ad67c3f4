#!/usr/bin/env bash
# Makes the pictures of README and docs: a real, unseeded run and its report, and an attack, in headless Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v chromium > /dev/null || { echo "needs chromium (Debian: apt-get install chromium)" >&2; exit 2; }
cargo build --release --locked
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
undertone="$(realpath "${CARGO_TARGET_DIR:-target}")/release/undertone"
mkdir -p docs/img

picture() { # address, picture, size
  chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$folder/profile" --virtual-time-budget=5000 --window-size="$3" --screenshot="$PWD/docs/img/$2" "$1" 2> /dev/null
  echo "wrote docs/img/$2"
}

"$undertone" simulate --quiet --out "$folder/run"
picture "file://$folder/run/report.html" report.png 1160,1400

# Records that may be published: Fashion-MNIST is under the MIT licence.
"$undertone" data get fashion-mnist
(cd "$folder" && "$undertone" new attacked --preset paper-mnist)
sed -i 's/^source = "mnist"/source = "fashion-mnist"/; s/^name = .*/name = "paper-fashion-mnist"/' "$folder/attacked.toml"
"$undertone" attack dlg "$folder/attacked.toml" --quiet --out "$folder/attack"
picture "file://$folder/attack/report.html" attack.png 1160,1420

# A learner's dashboard, after some hundred rounds of a network of five.
"$undertone" up --rounds 800 --rate 60 --stay --folder "$folder/network" > "$folder/up.log" &
network=$!
trap 'kill $network 2> /dev/null; wait $network; rm -rf "$folder"' EXIT
sleep 12
picture "$(grep -o 'http://[^ ]*' "$folder/up.log" | head -1)" dashboard.png 1160,1480
