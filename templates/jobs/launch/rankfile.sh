#!/usr/bin/env bash
# Open MPI's rank file for the job, for launchers that would not keep the host file's order:
#   rankfile.sh > ranks && MPIRUN_OPTIONS="-rf ranks" mpirun.sh COMMAND
# `slot=N` is a core; ranks are left to the kernel's scheduler where the job binds by itself.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
rank=0
for at in "${!HOSTS[@]}"; do
  for ((gpu = 0; gpu < GPUS[at]; gpu++)); do
    echo "rank $rank=${HOSTS[at]} slot=$gpu"
    rank=$((rank + 1))
  done
done
