#!/usr/bin/env bash
# Fetches the objects of the proposed commit; the only step beside the posting ones that has a token, which may only read.
set -euo pipefail
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.extraHeader GIT_TERMINAL_PROMPT=0
GIT_CONFIG_VALUE_0="Authorization: basic $(printf 'x-access-token:%s' "$GH_TOKEN" | base64 -w 0)"
export GIT_CONFIG_VALUE_0
git fetch --quiet --no-tags --no-recurse-submodules --no-write-fetch-head origin "$HEAD"
git cat-file -e "$HEAD^{commit}"
