#!/usr/bin/env bash
# Edits this bot's own comment on $SPEC, or posts one when there is none yet. What it posts was made by a job that reads
# what others wrote, so it is held to what a review is. Before the marker stands the state of the review: its commit,
# its labels, the labels that approve this commit, and the branch into which it is to be merged. A review of a commit that is no longer the head is not posted.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
comment="$WORK/out/comment.md"
review="$WORK/out/review.json"
marker="$(bash "$here/marker.sh" "$SPEC")"
if [ ! -f "$comment" ] || [ -L "$comment" ] || [ "$(wc -c <"$comment")" -gt 65536 ] ||
  [ "$(tail -n 1 "$comment")" != "$marker" ]; then
  echo "::error::there is no review of $SPEC to post"
  exit 1
fi
present="$(gh api "repos/$GITHUB_REPOSITORY/pulls/$PULL" --jq .head.sha)"
if [ "$present" != "$HEAD" ]; then
  echo "::error::the pull request has the commit $present now: the review of $HEAD is not posted"
  exit 1
fi
cat "$comment" >>"$GITHUB_STEP_SUMMARY"
issue="repos/$GITHUB_REPOSITORY/issues/$PULL"
reviews="$(gh api --paginate "$issue/comments" --jq '.[]' | jq -s -f "$here/github-comments.jq")"
labels=null
if [ -s "$review" ] && [ ! -L "$review" ]; then
  labels="$(jq -c -s 'if length == 1 then [.[0].labels[] | strings | .[:50]][:20] else null end' "$review" 2>/dev/null)" || labels=null
fi
id="$(jq -r --arg marker "$marker" 'map(select(.marker == $marker))[0].id // empty' <<<"$reviews")"
approved="$(bash "$here/github-approvals.sh")"
state="$(jq -n -r --argjson approved "$approved" --argjson labels "${labels:-null}" \
  --arg base "${GITHUB_BASE_REF:-}" '{labels: $labels, approved: $approved, base: $base} | tojson | @base64')"
body="$(mktemp)"
trap 'rm -f "$body"' EXIT
{
  head -n -1 "$comment"
  printf '%s\n%s\n' "<!-- fabricc:state:$HEAD:$state -->" "$marker"
} >"$body"
if [ -n "$id" ]; then
  gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$body" --silent
else
  gh api --method POST "$issue/comments" --field "body=@$body" --silent
fi
