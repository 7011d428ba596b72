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
while read -r name rest; do
  [[ -z $name || $name == '#'* ]] && continue
  if [[ ! " $rest" =~ \ slots\ *=\ *([0-9]+) ]]; then
    echo "$HOSTFILE gives no number of GPUs for $name: take its line of the fabric's hostfile, or add slots=N" >&2
    exit 2
  fi
  HOSTS+=("$name")
  GPUS+=("${BASH_REMATCH[1]}")
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

# Prints the interfaces that settings name for sockets, with commas: those of this host, if it has settings, and of every
# kind in the tree.
socket_interfaces() {
  { cat "$SETTINGS" "$FOLDER"/../{nccl,rccl}*.conf 2> /dev/null || :; } | sed -n 's/^NCCL_SOCKET_IFNAME==*//p' | sort -u | paste -sd,
}

# Sets SOCKET_INTERFACE, the one that NCCL's settings give to its connections, and exports it for Gloo.
find_socket() {
  if [[ ! -r $SETTINGS ]]; then
    echo "cannot read $SETTINGS: copy nccl.conf there, or name it in NCCL_CONF_FILE" >&2
    exit 2
  fi
  SOCKET_INTERFACE=$(sed -n 's/^NCCL_SOCKET_IFNAME==*//p' "$SETTINGS")
  if [[ -n $SOCKET_INTERFACE ]]; then
    if [[ ! -e ${SYSFS:-/sys}/class/net/$SOCKET_INTERFACE ]]; then
      echo "this host has no $SOCKET_INTERFACE, which $SETTINGS names: write socket_interface in the spec" >&2
      exit 2
    fi
    export GLOO_SOCKET_IFNAME=$SOCKET_INTERFACE
  fi
}

# Prints the first global address in what `ip -o addr show` prints, none that is about to change or not in use yet.
first_address() { awk '!/ (temporary|deprecated|tentative|dadfailed)( |$)/ {sub("/.*", "", $4); print $4; exit}'; }

# Sets ADDRESS, which other hosts reach this one by: VLLM_HOST_IP, else the address of SOCKET_INTERFACE, else the source
# address towards another host of the job. Debian and Ubuntu give the host's own name 127.0.1.1, so names do not help.
find_address() {
  local other
  ADDRESS=${VLLM_HOST_IP:-}
  if [[ -z $ADDRESS && -n $SOCKET_INTERFACE ]]; then
    ADDRESS=$(ip -o -4 addr show dev "$SOCKET_INTERFACE" scope global | first_address)
    ADDRESS=${ADDRESS:-$(ip -o -6 addr show dev "$SOCKET_INTERFACE" scope global | first_address)}
  elif [[ -z $ADDRESS ]]; then
    for other in "${HOSTS[@]}"; do
      if [[ $other != "$SELF" ]]; then
        other=$(getent ahosts "$other" | awk 'NR == 1 {print $1}') || other=
        ADDRESS=$(ip -o route get "${other:-0.0.0.0}" 2> /dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p') || ADDRESS=
        break
      fi
    done
  fi
  case $ADDRESS in
    "" | 127.* | ::1)
      echo "no address of $SELF on ${SOCKET_INTERFACE:-its route to other hosts}${ADDRESS:+ but $ADDRESS}: write \
socket_interface in the spec, or set VLLM_HOST_IP" >&2
      exit 2
      ;;
  esac
  export VLLM_HOST_IP=$ADDRESS
}
