#!/usr/bin/env bash
# Open MPI, once for the job: mpirun.sh COMMAND [ARGUMENT...]; MPIRUN_OPTIONS are put before the command.
# One rank per GPU, hosts in the order of the host file, so rank = 8 * position + GPU on hosts of eight.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
ranks=0
for gpus in "${GPUS[@]}"; do ranks=$((ranks + gpus)); done
settings=()
for file in "${UCX_SETTINGS:-$FOLDER/../ucx.conf}" "$FOLDER"/../{nvshmem,mori}.env; do
  if [[ $file == *.env && ! -r $file ]]; then continue; fi
  while IFS= read -r line; do
    if [[ $line =~ ^(UCX|NVSHMEM|MORI)_ ]]; then settings+=(-x "$line"); fi
  done < "$file"
done
read -ra options <<< "${MPIRUN_OPTIONS:-}"
exec mpirun --hostfile "$HOSTFILE" -np "$ranks" --map-by slot --bind-to none \
  --mca pml ucx --mca btl '^openib' "${settings[@]}" "${options[@]}" "$@"
