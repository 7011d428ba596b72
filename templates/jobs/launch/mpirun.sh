#!/usr/bin/env bash
# Open MPI, once for the job: mpirun.sh COMMAND [ARGUMENT...]; MPIRUN_OPTIONS are put before the command.
# One rank per GPU, hosts in the order of the host file, so rank = 8 * position + GPU on hosts of eight.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
ranks=0
for gpus in "${GPUS[@]}"; do ranks=$((ranks + gpus)); done
# Where kinds of hosts differ in a file, there is one for each kind; ranks of one job get one. FABRICC_MODEL names the kind
# of hosts that the fabric does not list, such as pods.
listed=$(awk -F, 'NR == FNR { sub(/[.].*/, ""); job[$1]; next } $1 in job { print $6 }' <(printf '%s\n' "${HOSTS[@]}") "$FOLDER/../hosts.csv" | sort -u)
kinds=${FABRICC_MODEL:-$listed}
# Where this host has none of the interfaces, as in a pod, Open MPI must not try the rails.
interfaces=$(socket_interfaces)
present=''
pods=''
for interface in ${interfaces//,/ }; do
  if [[ -e ${SYSFS:-/sys}/class/net/$interface ]]; then present=yes; fi
done
if [[ -n ${KUBERNETES_SERVICE_HOST:-} && -z $listed && -z $present ]]; then
  pods=yes # as in jobs of Kubeflow's MPI operator: they have eth0, and see their own devices only
fi
settings=()
for name in ucx.conf nvshmem.env mori.env; do
  file=$FOLDER/../$name
  if [[ $name == ucx.conf && -n ${UCX_SETTINGS:-} ]]; then file=$UCX_SETTINGS; fi
  if [[ ! -r $file ]]; then file=$FOLDER/../${name%.*}-$kinds.${name#*.}; fi
  if [[ ! -r $file ]]; then
    if compgen -G "$FOLDER/../${name%.*}-*.${name#*.}" > /dev/null; then
      echo "note: no $name for all hosts of this job (${kinds//$'\n'/, }): ranks get none" >&2
    fi
    continue
  fi
  while IFS= read -r line; do
    # Sessions of sshd do not have the variables of their pod, so that ranks in pods need these as well.
    if [[ -n $pods ]]; then
      case $line in
        UCX_NET_DEVICES=* | NVSHMEM_HCA_LIST=*) continue ;;
        *_IFNAME=*) line=${line%=*}=eth0 ;;
      esac
    fi
    if [[ $line =~ ^(UCX|NVSHMEM|MORI)_ ]]; then settings+=(-x "$line"); fi
  done < "$file"
done
# Open MPI's daemons would try the rails first, which answer to their own source addresses only: 135 s for each.
# `oob_tcp` is of release 4, `prte_if` of 5, which warns of the former.
# KIND INTERFACES: of the daemons.
limit_daemons() {
  if [[ $(mpirun --version) =~ \(Open\ MPI\)\ [5-9] ]]; then
    export "PRTE_MCA_prte_if_$1=$2"
  else
    settings+=(--mca "oob_tcp_if_$1" "$2")
  fi
}
rails=$(awk -F, 'NR > 1 && !seen[$4]++ { print $4 }' "$FOLDER/../rails.csv" | paste -sd,)
if [[ -z $present && -n $rails ]]; then
  if [[ -n $interfaces ]]; then
    echo "note: this host has none of $interfaces: Open MPI uses all interfaces but the rails" >&2
  fi
  settings+=(--mca btl_tcp_if_exclude "127.0.0.0/8,$rails")
  limit_daemons exclude "$rails"
elif [[ -n $present ]]; then
  settings+=(--mca btl_tcp_if_include "$interfaces")
  limit_daemons include "$interfaces"
fi
read -ra options <<< "${MPIRUN_OPTIONS:-}"
exec mpirun --hostfile "$HOSTFILE" -np "$ranks" --map-by slot --bind-to none \
  --mca pml ucx --mca btl '^openib' "${settings[@]}" "${options[@]}" "$@"
