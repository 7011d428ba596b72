#!/usr/bin/env bash
# Prints the last line of the comment on the spec $1. Names with other characters, or with two hyphens, which would end a
# comment of HTML, count by their digest: no two specs have one marker.
set -euo pipefail
name="$1"
if ! [[ "$name" =~ ^[A-Za-z0-9_./-]+$ ]] || [[ "$name" == *--* ]]; then
  name="sha256:$(printf '%s' "$name" | sha256sum | cut -c 1-64)"
fi
printf '<!-- fabricc:diff:%s -->\n' "$name"
