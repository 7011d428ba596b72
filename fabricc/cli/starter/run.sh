# Sourced by the scripts beside it: `fabricc` in an isolated Python, without any variable or token of CI around it.
# shellcheck shell=bash
# $SPEC with several specs, one a line: the script runs once for each, and writes to $WORK/out/1, $WORK/out/2 and so on.
if [ "${SPEC#*$'\n'}" != "$SPEC" ]; then
  number=0
  worst=0
  while IFS= read -r each; do
    [ -n "$each" ] || continue
    number=$((number + 1))
    SPEC="$each" OUT="$WORK/out/$number" bash "$0" </dev/null || worst=$?
  done <<<"$SPEC"
  exit "$worst"
fi
out="${OUT:-$WORK/out}"
mkdir -p "$WORK/home" "$out"
git config --file "$WORK/home/.gitconfig" safe.directory "$PWD"
isolated() { env -i PATH="$PATH" HOME="$WORK/home" LC_ALL=C.UTF-8 "$WORK/python/bin/python" -I "$@"; }
fabricc() { isolated -m fabricc "$@"; }
# Compares the trees of the spec that the commit $HEAD has with a fresh build: at $TREE, or by default in `build` and in the
# `build` beside the spec. The status is left in $out/checked, with the commit, so that a review need not build again.
check_trees() {
  local cluster each status=0
  local -a trees=()
  cluster="$(git cat-file blob "$HEAD:$SPEC" 2>/dev/null |
    isolated -c 'import sys, yaml; print(yaml.safe_load(sys.stdin)["cluster"])' 2>/dev/null)" || cluster=
  for each in build "$(dirname "$SPEC")/build"; do
    if [ -n "$cluster" ] && [ "$each" != ./build ] && git cat-file -e "$HEAD:$each/$cluster" 2>/dev/null; then trees+=("$each"); fi
  done
  if [ -n "${TREE:-}" ]; then trees=("$TREE"); fi
  for each in "${trees[@]:-build}"; do
    fabricc check "$each" --committed "$HEAD" --spec "$SPEC" "$@" || status=$?
  done
  echo "$HEAD $status" >"$out/checked"
  return "$status"
}
