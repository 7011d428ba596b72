#!/usr/bin/env bash
# Edits the comment that has the marker, or posts one when there is none yet.
set -euo pipefail
comment="$RUNNER_TEMP/fabricc-diff/comment.md"
[ -s "$comment" ] || exit 0
marker="$(tail -n 1 "$comment")"
export marker
id="$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL/comments" \
  --jq '.[] | select(.user.type == "Bot") | select(.body | contains(env.marker)) | .id' | head -n 1)"
if [ -n "$id" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$comment" --silent
else
  gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL/comments" --field "body=@$comment" --silent
fi
