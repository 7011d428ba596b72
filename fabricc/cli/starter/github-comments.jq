# Input: every comment of the pull request. Output: this bot's reviews among them, each with its id, marker, the commit
# that it is on, the branch into which it was to be merged, the labels of that review (null: nothing was compared) and the
# labels that people set on that commit, each with the event of setting it.
# The line before the marker holds this state; `github-post.sh` writes it, and nothing else can put a line there.
map(
  select(.user.login == "github-actions[bot]" and .user.type == "Bot")
  | {id, lines: [.body | split("\n")[] | rtrimstr("\r") | select(. != "")]}
  | .marker = (.lines[-1] // "")
  | select(.marker | test("^<!-- fabricc:diff:.* -->$"))
  | ((.lines[-2] // "") | capture("^<!-- fabricc:state:(?<head>[0-9a-f]{40,64}):(?<text>[A-Za-z0-9+/=]*) -->$") // {}) as $found
  | (($found.text // "" | try (@base64d | fromjson) catch null) // {}) as $state
  | {id, marker, head: ($found.head // ""), base: ($state.base // ""), labels: $state.labels, approved: ($state.approved // [])}
)
