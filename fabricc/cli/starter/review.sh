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
files=("md=$out/comment.md" "full=$out/full.md" "json=$out/review.json" "junit=$out/junit.xml")
[ "$forge" != gitlab ] || files+=("gitlab=$out/review-quality.json")
for each in "${files[@]}"; do
  : >"${each#*=}"
done
review() {
  fabricc diff "$SPEC" --base "$BASE" --head "$HEAD" --check-status "${checked##* }" ${labels[@]+"${labels[@]}"} \
    "${files[@]/#/--save=}" --for "$forge" --details-url "${URL:-}" --format "$1" 2>/dev/null
}
if [ "$forge" = github ]; then review github; else review json >/dev/null; fi
