#!/usr/bin/env bash
# Writes ci/requirements.txt: fabricc and all that it needs, one version each, pinned by hash. Run it where you trust the
# network, with the Python and the system that CI has, and read what changed before you commit it.
#   ci/pin.sh fabricc==0.1.0                              # from your package index
#   ci/pin.sh ./ci/wheels/fabricc-0.1.0-py3-none-any.whl  # from a wheel that you keep in ci/wheels/
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
here="$(cd "$(dirname "$0")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -I -m pip --disable-pip-version-check install --quiet --dry-run --ignore-installed \
  --report "$work/report.json" "$@" setuptools wheel
"${PYTHON:-python3}" -I - "$work/report.json" >"$work/requirements.txt" <<'PYTHON'
import json, platform, re, sys

print(f"# Written by ci/pin.sh for Python {platform.python_version()} on {platform.system()} {platform.machine()}.")
for item in sorted(json.load(open(sys.argv[1]))["install"], key=lambda item: item["metadata"]["name"].lower()):
    name = re.sub(r"[-_.]+", "-", item["metadata"]["name"]).lower()
    archive = item["download_info"]["archive_info"]  # pip before 23.1 has `hash` alone
    digest = archive.get("hashes", {}).get("sha256") or archive["hash"].removeprefix("sha256=")
    print(f"{name}=={item['metadata']['version']} --hash=sha256:{digest}")
PYTHON
cat "$work/requirements.txt" >"$here/requirements.txt"
