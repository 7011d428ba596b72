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
# Open MPI's daemons would try the rails first, which answer to their own source addresses only: 135 s for each.
# `oob_tcp` is of release 4, `prte_if_include` of 5; a release ignores the parameter of the other.
interfaces=$(socket_interfaces) present=
for interface in ${interfaces//,/ }; do
  if [[ -e ${SYSFS:-/sys}/class/net/$interface ]]; then present=yes; fi
done
if [[ -n $interfaces && -z $present ]]; then
  echo "note: this host has none of $interfaces: Open MPI tries all its interfaces, rails included" >&2
elif [[ -n $interfaces ]]; then
  settings+=(--mca oob_tcp_if_include "$interfaces" --mca btl_tcp_if_include "$interfaces")
  export PRTE_MCA_prte_if_include=$interfaces
fi
read -ra options <<< "${MPIRUN_OPTIONS:-}"
exec mpirun --hostfile "$HOSTFILE" -np "$ranks" --map-by slot --bind-to none \
  --mca pml ucx --mca btl '^openib' "${settings[@]}" "${options[@]}" "$@"
