#!/usr/bin/env bash
# Compares the spec of the commit $HEAD with the one of $BASE, under the policy that $BASE has now; leaves comment.md,
# full.md, review.json and junit.xml in $WORK/out, for GitLab review-quality.json. $LABELS: the labels that approve this commit, as a JSON list; on
# GitHub they are in $WORK/approved.json.
set -uo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/run.sh"
out="${OUT:-$WORK/out}"
labels=()
while IFS= read -r -d '' label; do
  labels+=("--label=$label")
done < <(isolated -c '
import json, pathlib, sys
names, approved = json.loads(sys.argv[1]), pathlib.Path(sys.argv[2])
names += json.loads(approved.read_text()) if approved.is_file() else []
print(*names, sep="\0", end="\0" if names else "")' "${LABELS:-[]}" "$WORK/approved.json")
forge="${FORGE:-github}"
checked="$(cat "$out/checked" 2>/dev/null)" || checked=
if [ "${checked% *}" != "$HEAD" ]; then
  check_trees >/dev/null 2>&1
  checked="$HEAD $?"
fi
review() {
  fabricc diff "$SPEC" --base "$BASE" --head "$HEAD" --check-status "${checked##* }" ${labels[@]+"${labels[@]}"} "$@"
}

review --format md --for "$forge" --details-url "${URL:-}" >"$out/comment.md" 2>/dev/null
status=$?
review --format md --for none >"$out/full.md" 2>/dev/null
review --format json --for "$forge" >"$out/review.json" 2>/dev/null
review --format junit --for "$forge" >"$out/junit.xml" 2>/dev/null
[ "$forge" != gitlab ] || review --format gitlab --for gitlab >"$out/review-quality.json" 2>/dev/null
[ "$forge" != github ] || review --format github 2>/dev/null
exit "$status"
