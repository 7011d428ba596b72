#!/usr/bin/env bash
# Fetches the objects of the proposed commit, and writes the labels that approve this commit to $WORK/approved.json. Only
# this step and the posting ones have a token; here it may only read.
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
if ! HEAD="$HEAD" bash "$here/github-approvals.sh" | jq -c 'map(.name)' >"$WORK/approved.json"; then
  rm -f "$WORK/approved.json"
  echo "::notice::cannot read the approvals of $HEAD, so no label counts"
fi
