# shellcheck shell=bash disable=SC2034  # what it sets is for the files that source it
# Sourced by the launch files: the job's hosts in topological order, and where this host stands among them.
#   FABRICC_HOSTFILE  the job's hosts, in the order of the fabric's hostfile (that one by default)
#   FABRICC_HOST      this host's name (its short host name by default)
#   NCCL_CONF_FILE    NCCL's settings (/etc/nccl.conf by default, /etc/rccl.conf where there is none)
FOLDER=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
HOSTFILE=${FABRICC_HOSTFILE:-$FOLDER/../hostfile}
SELF=${FABRICC_HOST:-$(hostname -s)}
SETTINGS=${NCCL_CONF_FILE:-/etc/nccl.conf}
if [[ -z ${NCCL_CONF_FILE:-} && ! -e $SETTINGS ]]; then SETTINGS=/etc/rccl.conf; fi

HOSTS=()
GPUS=()
while read -r name slots _; do
  [[ -z $name || $name == '#'* ]] && continue
  HOSTS+=("$name")
  GPUS+=("${slots#slots=}")
done < "$HOSTFILE"
if ((${#HOSTS[@]} == 0)); then
  echo "$HOSTFILE names no host" >&2
  exit 2
fi
NNODES=${#HOSTS[@]} HEAD_HOST=${HOSTS[0]}

# Sets NODE_RANK and SLOTS, the position and the GPUs of this host.
find_self() {
  local at
  for at in "${!HOSTS[@]}"; do
    if [[ ${HOSTS[at]} == "$SELF" ]]; then
      NODE_RANK=$at SLOTS=${GPUS[at]}
      return
    fi
  done
  echo "$SELF is not in $HOSTFILE" >&2
  exit 2
}

# Sets SOCKET_INTERFACE, the one that NCCL's settings give to its connections, and exports it for Gloo.
find_socket() {
  if [[ ! -r $SETTINGS ]]; then
    echo "cannot read $SETTINGS: copy nccl.conf there, or name it in NCCL_CONF_FILE" >&2
    exit 2
  fi
  SOCKET_INTERFACE=$(sed -n 's/^NCCL_SOCKET_IFNAME==*//p' "$SETTINGS")
  if [[ -n $SOCKET_INTERFACE ]]; then
    export GLOO_SOCKET_IFNAME=$SOCKET_INTERFACE
  fi
}
