# Sourced by the scripts beside it: `fabricc` in an isolated Python, without any variable or token of CI around it.
# shellcheck shell=bash
mkdir -p "$WORK/home"
git config --file "$WORK/home/.gitconfig" safe.directory "$PWD"
isolated() { env -i PATH="$PATH" HOME="$WORK/home" LC_ALL=C.UTF-8 "$WORK/python/bin/python" -I "$@"; }
fabricc() { isolated -m fabricc "$@"; }
