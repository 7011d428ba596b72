#!/usr/bin/env bash
# Compares the tree that the commit $HEAD has, whole, with a fresh build of the spec and the lock that it has, and leaves
# the fabric as one page in $WORK/out/report.html. The commit is read as objects, and nothing of it is run.
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/run.sh"
out="${OUT:-$WORK/out}"
status=0
case "${FORGE:-github}" in
gitlab) check_trees --format gitlab >"$out/tree-quality.json" || status=$? ;;
azure) check_trees --format text || status=$? ;;
*) check_trees --format github || status=$? ;;
esac
# The page needs files: links as plain text, no filters, no hooks, in a folder of their own.
proposed="$(mktemp -d "$WORK/proposed.XXXXXX")"
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$WORK/home/.gitconfig" GIT_INDEX_FILE="$proposed.index"
# Git's messages contain names of files, which a runner could take for commands.
git -c core.symlinks=false -c core.hooksPath=/dev/null read-tree "$HEAD" 2>/dev/null
git -c core.symlinks=false -c core.hooksPath=/dev/null checkout-index --all --force --prefix="$proposed/" 2>/dev/null || {
  echo "the files of $HEAD cannot be written"
  exit 1
}
(cd "$proposed" && fabricc report "$SPEC" -o "$out/report.html") >/dev/null 2>&1 || true
exit "$status"
