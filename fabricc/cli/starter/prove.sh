#!/usr/bin/env bash
# Compares the tree that the commit $HEAD has, whole, with a fresh build of the spec and the lock that it has, and leaves
# the fabric as one page in $WORK/out/report.html. The commit is read as objects, and nothing of it is run.
set -euo pipefail
# shellcheck source=/dev/null
. "$(dirname "$0")/run.sh"
mkdir -p "$WORK/out" "$WORK/proposed"
status=0
fabricc check build --committed "$HEAD" --spec "$SPEC" --format github || status=$?
# The page needs files: links as plain text, no filters, no hooks, in a folder of their own.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL="$WORK/home/.gitconfig" GIT_INDEX_FILE="$WORK/index"
git -c core.symlinks=false -c core.hooksPath=/dev/null read-tree "$HEAD"
git -c core.symlinks=false -c core.hooksPath=/dev/null checkout-index --all --force --prefix="$WORK/proposed/"
(cd "$WORK/proposed" && fabricc report "$SPEC" -o "$WORK/out/report.html") >/dev/null 2>&1 || true
exit "$status"
