#!/usr/bin/env bash
# Gives the pull request the labels of its reviews, which are one for each spec, and removes those that no review has;
# all others stay. Only these labels are ever set: one that people give as their approval is not among them, whatever a
# review says. The gravest risk counts, `fabric:no-change` stands only where all reviews say so, and
# `fabric:not-compared` where a review is missing, failed or is of another commit or target branch. An outdated run sets no label.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
known=(fabric:no-change fabric:not-compared fabric:access fabric:control-files risk:low risk:medium risk:high renumbers needs-drain removes-devices policy-change policy-violation)
review="$WORK/out/review.json"
issue="repos/$GITHUB_REPOSITORY/issues/$PULL"
marker="$(bash "$here/marker.sh" "$SPEC")"
own=null
present="$(gh api "repos/$GITHUB_REPOSITORY/pulls/$PULL" --jq .head.sha)"
[ "$present" = "$HEAD" ] || exit 0
if [ -s "$review" ] && [ ! -L "$review" ]; then
  own="$(jq -c -s 'if length == 1 then [.[0].labels[] | strings] else null end' "$review" 2>/dev/null)" || own=null
fi
joined() {
  gh api --paginate "$issue/comments" --jq '.[]' | jq -s -f "$here/github-comments.jq" |
    jq -r --argjson own "${own:-null}" --arg marker "$marker" --arg head "${HEAD:-}" --arg base "${GITHUB_BASE_REF:-}" '
      [{labels: $own, head: $head, base: $base}, (.[] | select(.marker != $marker))]
      | map((.labels // []) + if .labels == null or .head != $head or .base != $base then ["fabric:not-compared"] else [] end)
      | . as $all | (add | unique) as $found
      | (["risk:high", "risk:medium", "risk:low"] | map(select([.] - $found == []))[0]) as $risk
      | $found[] | strings
      | select((startswith("risk:") | not) or . == $risk)
      | select(. != "fabric:no-change" or
          ($all | all((["fabric:no-change"] - . == []) and (["fabric:not-compared"] - . != []))))'
}
has() {
  local name="$1" each
  shift
  for each in "$@"; do [ "${each,,}" != "$name" ] || return 0; done
  return 1
}
# Reviews of other specs may be posted meanwhile: the labels are settled when nothing new was found after setting them.
for _ in 1 2 3 4 5; do
  found="$(joined)"
  mapfile -t wanted <<<"$found"
  mapfile -t present < <(gh api --paginate "$issue/labels" --jq '.[].name')
  for label in "${known[@]}"; do
    if has "$label" "${wanted[@]}"; then
      has "$label" ${present[@]+"${present[@]}"} || gh api --method POST "$issue/labels" --field "labels[]=$label" --silent ||
        echo "::notice::could not set the label $label: create it first, or let the token write issues"
    elif has "$label" ${present[@]+"${present[@]}"}; then
      gh api --method DELETE "$issue/labels/${label//:/%3A}" --silent ||
        echo "::notice::could not remove the label $label"
    fi
  done
  [ "$(joined)" != "$found" ] || break
done
