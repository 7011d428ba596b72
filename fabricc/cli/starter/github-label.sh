#!/usr/bin/env bash
# Gives the pull request the labels of the review and takes away those of an earlier one; all others stay. Only these
# labels are ever set: one that people give as their approval is not among them, whatever the review says.
set -euo pipefail
known=(fabric:no-change risk:low risk:medium risk:high renumbers needs-drain removes-devices policy-change policy-violation)
review="$WORK/out/review.json"
if [ ! -s "$review" ] || [ -L "$review" ]; then exit 0; fi
issue="repos/$GITHUB_REPOSITORY/issues/$PULL"
mapfile -t present < <(gh api --paginate "$issue/labels" --jq '.[].name')
mapfile -t wanted < <(jq -r '.labels[]? | strings' "$review")
has() {
  local name="$1" each
  shift
  for each in "$@"; do [ "$each" != "$name" ] || return 0; done
  return 1
}
for label in "${known[@]}"; do
  if has "$label" ${wanted[@]+"${wanted[@]}"}; then
    has "$label" ${present[@]+"${present[@]}"} || gh api --method POST "$issue/labels" --field "labels[]=$label" --silent ||
      echo "::notice::could not set the label $label: make it first, or let the token write issues"
  elif has "$label" ${present[@]+"${present[@]}"}; then
    gh api --method DELETE "$issue/labels/${label//:/%3A}" --silent
  fi
done
