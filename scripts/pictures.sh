#!/usr/bin/env bash
# Makes the pictures of the README: a real, unseeded run and its report in headless Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v chromium > /dev/null || { echo "needs chromium (Debian: apt-get install chromium)" >&2; exit 2; }
cargo build --release --locked
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CARGO_TARGET_DIR:-target}/release/undertone" simulate --quiet --out "$folder/run"
mkdir -p docs/img
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars \
  --disable-background-networking --disable-component-update --disable-sync \
  --user-data-dir="$folder/profile" --window-size=1160,1400 \
  --screenshot="$PWD/docs/img/report.png" "file://$folder/run/report.html" 2> /dev/null
echo "wrote docs/img/report.png"
