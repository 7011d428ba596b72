#!/usr/bin/env bash
# Compares the spec with its base; leaves comment.md, full.md and review.json, and the comment in the job summary.
set -uo pipefail
out="$RUNNER_TEMP/fabricc-diff"
mkdir -p "$out"
labels=()
while IFS= read -r label; do
  [ -n "$label" ] && labels+=(--label "$label")
done < <(python3 -c 'import json, os; print(*json.loads(os.environ.get("LABELS") or "[]"), sep="\n")')
review() { fabricc diff "$SPEC" --base "$BASE" "${labels[@]}" "$@"; }

review --format md --details-url "$URL" >"$out/comment.md"
status=$?
cat "$out/comment.md" >>"$GITHUB_STEP_SUMMARY"
review --format md --for none >"$out/full.md" 2>/dev/null
review --format json >"$out/review.json" 2>/dev/null
review --format github 2>/dev/null
exit "$status"
