"""A tiny stand-in for a build: writes a tree of numbered files, for tests that kill it or break its disk."""

from __future__ import annotations

import sys
from pathlib import Path

from fabricc.tree import EmitError
from fabricc.tree.exclusive import hold_lock
from fabricc.tree.manifest import Manifest
from fabricc.tree.stage import Committed, Stage


def make_files(generation: int, count: int = 60) -> dict[str, bytes]:
    """Every third file differs per generation, and one file is named after it."""
    table = {
        f"switches/s{i}/frr.conf": f"hostname s{i}\n{generation if i % 3 == 0 else 0}\n".encode() * 50
        for i in range(count)
    }
    return table | {f"plan/generation-{generation}.txt": b"x\n"}


def emit_tree(out: Path, table: dict[str, bytes], cluster: str = "zone") -> Committed:
    """Write the tree of `table` the way a build does."""
    with hold_lock(out / cluster):
        stage = Stage.open(out, cluster)
        try:
            written = [stage.put(path, content) for path, content in sorted(table.items())]
            sums = {w.path: w.sha256 for w in written}
            manifest = Manifest(cluster, "0", "cluster.yaml", {}, sums)
            return stage.commit(manifest, sum(w.changed for w in written))
        except BaseException:
            stage.abandon()
            raise


def main() -> int:
    """Build generations forever (`loop`), or one and report the result (`once`)."""
    out, mode = Path(sys.argv[1]), sys.argv[2]
    if mode == "once":
        try:
            emit_tree(out, make_files(int(sys.argv[3])))
        except (EmitError, OSError) as error:
            print(error)
            return 3
        return 0
    generation = int(sys.argv[3])
    while True:
        emit_tree(out, make_files(generation))
        print(generation, flush=True)
        generation += 1


if __name__ == "__main__":
    sys.exit(main())
