#!/usr/bin/env bash
# Gives the pull request the labels of the review and takes away those of an earlier one; all others stay.
set -euo pipefail
review="$RUNNER_TEMP/fabricc-diff/review.json"
[ -s "$review" ] || exit 0
issue="repos/$GITHUB_REPOSITORY/issues/$PULL"
mapfile -t present < <(gh api --paginate "$issue/labels" --jq '.[].name')
mapfile -t wanted < <(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["labels"], sep="\n")' "$review")
mapfile -t known < <(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["labels_known"], sep="\n")' "$review")
has() {
  local name="$1" each
  shift
  for each in "$@"; do [ "$each" = "$name" ] && return 0; done
  return 1
}
for label in "${wanted[@]}"; do
  has "$label" ${present[@]+"${present[@]}"} || gh api --method POST "$issue/labels" --field "labels[]=$label" --silent ||
    echo "::notice::could not set the label $label: make it first, or let the token write issues"
done
for label in ${present[@]+"${present[@]}"}; do
  if has "$label" "${known[@]}" && ! has "$label" "${wanted[@]}"; then
    gh api --method DELETE "$issue/labels/${label//:/%3A}" --silent
  fi
done
