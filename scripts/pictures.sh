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

picture() { # page, picture, size
  chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$folder/profile" --window-size="$3" --screenshot="$PWD/docs/img/$2" "file://$1" 2> /dev/null
  echo "wrote docs/img/$2"
}

"$undertone" simulate --quiet --out "$folder/run"
picture "$folder/run/report.html" report.png 1160,1400

# Records that may be passed on: Fashion-MNIST is under the MIT licence.
"$undertone" data get fashion-mnist
(cd "$folder" && "$undertone" new attacked --preset paper-mnist)
sed -i 's/^source = "mnist"/source = "fashion-mnist"/; s/^name = .*/name = "paper-fashion-mnist"/' "$folder/attacked.toml"
"$undertone" attack dlg "$folder/attacked.toml" --quiet --out "$folder/attack"
picture "$folder/attack/report.html" attack.png 1160,1420
