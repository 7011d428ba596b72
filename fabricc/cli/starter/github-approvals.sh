#!/usr/bin/env bash
# Prints the labels that approve the commit $HEAD, as a JSON list of `{name, event}`: those that earlier runs recorded for
# this commit and the branch into which it is to be merged, and the one whose setting started this run ($LABELS, set by
# $SETTER). A label counts while it is present and was not set again since: `event` is the event of setting it, so a
# label that was removed and set by another person approves nothing, whichever runs were cancelled meanwhile. It counts
# if a person with write access who is not the author of the pull request set it, or an app of $APPROVING_APPS.
# A later attempt of a run counts recorded labels only.
set -feuo pipefail  # names of apps have brackets, which are no patterns
here="$(cd "$(dirname "$0")" && pwd)"
issue="repos/$GITHUB_REPOSITORY/issues/$PULL"

may_approve() {
  local each login type permission
  login="$(jq -r '.login // ""' <<<"${SETTER:-null}")"
  type="$(jq -r '.type // ""' <<<"${SETTER:-null}")"
  if [ "$type" != User ]; then
    for each in ${APPROVING_APPS:-}; do [ "$each" != "$login" ] || return 0; done
    echo "::notice::the label of ${login:-nobody} approves nothing: it is an app" >&2
    return 1
  fi
  [[ "$login" =~ ^[A-Za-z0-9_-]+$ ]] || return 1
  if [ "${login,,}" = "${AUTHOR,,}" ] || [ -z "$AUTHOR" ]; then
    echo "::notice::the label of $login approves nothing: $login is the author" >&2
    return 1
  fi
  permission="$(gh api "repos/$GITHUB_REPOSITORY/collaborators/$login/permission" --jq .permission)" || permission=unknown
  case "$permission" in admin | write) return 0 ;; esac
  echo "::notice::the label of $login approves nothing: the permission is $permission, not write" >&2
  return 1
}

set_now="${LABELS:-[]}"
counts=false
if [ "$set_now" != "[]" ] && [ "${GITHUB_RUN_ATTEMPT:-1}" = 1 ] && may_approve; then counts=true; fi
if [ "${GITHUB_RUN_ATTEMPT:-1}" != 1 ]; then set_now="[]"; fi
present="$(gh api --paginate "$issue/labels" --jq '.[]' | jq -s 'map(.name | ascii_downcase)')"
reviews="$(gh api --paginate "$issue/comments" --jq '.[]' | jq -s -f "$here/github-comments.jq")"
events="$(gh api --paginate "$issue/timeline?per_page=100" --jq '.[]' |
  jq -s 'map(select(.event == "labeled")) | sort_by(.id)
    | map({(.label.name | ascii_downcase): {id, login: (.actor.login // "")}}) | add // {}')"
# A label that was set now was absent before, so an earlier record of it has ended.
jq -c -n --argjson present "$present" --argjson reviews "$reviews" --arg head "$HEAD" --arg base "${GITHUB_BASE_REF:-}" \
  --argjson set "$set_now" --argjson counts "$counts" --argjson events "$events" --argjson setter "${SETTER:-null}" '
  def last: $events[ascii_downcase] // {};
  ($set | if type == "array" then . else [.] end | map(strings)) as $now
  | ($now | map(ascii_downcase)) as $ended
  | [($reviews[] | select(.head == $head and .base == $base) | .approved[] | objects
      | {name: (.name | strings), event: (.event | numbers)}
      | select((.name | ascii_downcase) as $name | $ended | index([$name]) | not)),
     (if $counts then $now[] | select((last.login // "" | ascii_downcase) == ($setter.login // "" | ascii_downcase))
      | {name: ., event: last.id} else empty end)]
  | map(select(.event != null and .event == (.name | last.id)))
  | map(select((.name | ascii_downcase) as $name | $present | index([$name]))) | unique | .[:20]'
