#!/usr/bin/env bash
# Compares the spec of the commit $HEAD with the one of $BASE, under the policy that $BASE has now; leaves comment.md,
# full.md, review.json and junit.xml in $WORK/out. $LABELS: the labels of the pull request, as a JSON list.
set -uo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/run.sh"
out="$WORK/out"
mkdir -p "$out"
labels=()
while IFS= read -r -d '' label; do
  labels+=("--label=$label")
done < <(isolated -c 'import json, sys; [print(label, end="\0") for label in json.loads(sys.argv[1])]' "${LABELS:-[]}")
review() { fabricc diff "$SPEC" --base "$BASE" --head "$HEAD" ${labels[@]+"${labels[@]}"} "$@"; }

review --format md --for "${FORGE:-github}" --details-url "${URL:-}" >"$out/comment.md" 2>/dev/null
status=$?
review --format md --for none >"$out/full.md" 2>/dev/null
review --format json >"$out/review.json" 2>/dev/null
review --format junit >"$out/junit.xml" 2>/dev/null
[ "${FORGE:-github}" != github ] || review --format github 2>/dev/null
exit "$status"
