#!/usr/bin/env bash
# Edits this bot's own comment on $SPEC, or posts one when there is none yet. What it posts was made by a job that reads
# what others wrote, so it is held to what a review is.
set -euo pipefail
comment="$WORK/out/comment.md"
marker="<!-- fabricc:diff:${SPEC//--/-} -->"
if [ ! -f "$comment" ] || [ -L "$comment" ] || [ "$(wc -c <"$comment")" -gt 65536 ] ||
  [ "$(tail -n 1 "$comment")" != "$marker" ]; then
  echo "::error::there is no review of $SPEC to post"
  exit 1
fi
cat "$comment" >>"$GITHUB_STEP_SUMMARY"
export marker
id="$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL/comments" --jq '.[]
  | select(.user.login == "github-actions[bot]" and .user.type == "Bot")
  | select((.body | split("\n") | map(rtrimstr("\r")) | map(select(. != "")) | last) == env.marker) | .id' | sed -n 1p)"
if [ -n "$id" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$comment" --silent
else
  gh api --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL/comments" --field "body=@$comment" --silent
fi
