#!/usr/bin/env bash
# Reviews every open merge request in $WORK/open.json: its objects are fetched, nothing of it is run or checked out.
set -uo pipefail
reviews="$WORK/reviews"
rm -rf "$reviews"
mkdir -p "$reviews"
rows="$(python3 -I -c '
import json, sys
for each in json.load(open(sys.argv[1])):
    print(int(each["iid"]), each["sha"], json.dumps(each["labels"]), sep="\t")' "$WORK/open.json")" || exit 1
BASE="refs/remotes/origin/$CI_DEFAULT_BRANCH"
git update-ref "$BASE" "$CI_COMMIT_SHA" || exit 1
while IFS=$'\t' read -r iid sha labels; do
  [ -n "$iid" ] || continue
  git fetch --quiet --no-tags --no-recurse-submodules --no-write-fetch-head origin "refs/merge-requests/$iid/head" || continue
  rm -rf "$WORK/out"
  HEAD="$sha" BASE="$BASE" LABELS="$labels" FORGE=gitlab bash "$(dirname "$0")/review.sh" </dev/null || true
  mv "$WORK/out" "$reviews/$iid"
done <<<"$rows"
