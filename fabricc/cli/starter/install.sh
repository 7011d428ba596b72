#!/usr/bin/env bash
# Installs what requirements.txt beside this script (or $PINS) pins by hash into $WORK/python; anything else fails.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
pins="${PINS:-$here/requirements.txt}"
wheels="$(dirname "$pins")/wheels"
if ! grep -Eq '^fabricc==[^ ]+ --hash=sha256:[0-9a-f]{64}$' "$pins"; then
  echo "${GITHUB_ACTIONS:+::error::}$pins does not pin fabricc by hash: run ci/pin.sh and commit what it writes" >&2
  exit 1
fi
mkdir -p "$WORK"
cd "$WORK"
python3 -I -m venv "$WORK/python"
install() {
  "$WORK/python/bin/python" -I -m pip --disable-pip-version-check --no-input install --quiet \
    --require-hashes --no-deps --no-build-isolation ${find[@]+"${find[@]}"} "$@"
}
find=()
if [ -d "$wheels" ]; then find=(--find-links "$wheels"); fi
# What builds the packages that have no wheel is pinned too, and comes first.
grep -E '^(setuptools|wheel)==' "$pins" >"$WORK/first.txt" || true
if [ -s "$WORK/first.txt" ]; then install --requirement "$WORK/first.txt"; fi
install --requirement "$pins"
"$WORK/python/bin/python" -I -m pip --disable-pip-version-check check
