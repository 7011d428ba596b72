#!/usr/bin/env bash
# Fetches the objects of the proposed commit, and writes the labels that people set on this very commit to
# $WORK/approved.json; the only step beside the posting ones that has a token, which may only read.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.extraHeader GIT_TERMINAL_PROMPT=0
GIT_CONFIG_VALUE_0="Authorization: basic $(printf 'x-access-token:%s' "$GH_TOKEN" | base64 -w 0)"
export GIT_CONFIG_VALUE_0
# The review needs the merge base: a shallow checkout is completed first.
complete=()
[ "$(git rev-parse --is-shallow-repository)" = false ] || complete=(--unshallow)
git fetch --quiet ${complete[@]+"${complete[@]}"} --no-tags --no-recurse-submodules --no-write-fetch-head origin "$HEAD"
git cat-file -e "$HEAD^{commit}"
mkdir -p "$WORK"
rm -f "$WORK/approved.json"
issue="repos/$GITHUB_REPOSITORY/issues/$PULL"
# An approval counts while its label is still there and the commit is the one that it was set on.
if ! { present="$(gh api --paginate "$issue/labels" --jq '.[]' | jq -s 'map(.name | ascii_downcase)')" &&
  reviews="$(gh api --paginate "$issue/comments" --jq '.[]' | jq -s -f "$here/github-comments.jq")" &&
  jq -n --argjson present "$present" --argjson reviews "$reviews" --arg head "$HEAD" '
    [$reviews[] | select(.head == $head) | .approved[] | strings
     | select((ascii_downcase) as $name | $present | index([$name]))] | unique' >"$WORK/approved.json"; }; then
  rm -f "$WORK/approved.json"
  echo "::notice::cannot read earlier approvals of $HEAD; only a label that is set now counts"
fi
