#!/usr/bin/env bash
# The GID index of a device's RoCE v2 entry with its fabric address: gid-index.sh DEVICE ADDRESS
# NCCL 2.21 and later and UCX find it themselves; older NCCL needs it as NCCL_IB_GID_INDEX, perftest as -x.
set -euo pipefail
if (($# != 2)); then
  echo "usage: gid-index.sh DEVICE ADDRESS" >&2
  exit 2
fi
port=${SYSFS:-/sys}/class/infiniband/$1/ports/1
if [[ ! -d $port ]]; then
  echo "this host has no RDMA device $1; \`rdma link\` lists them" >&2
  exit 1
fi
if [[ $2 == *.* ]]; then
  IFS=. read -r a b c d <<< "$2"
  wanted=$(printf '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "$a" "$b" "$c" "$d")
else
  wanted=$(python3 -c 'import ipaddress, sys; print(ipaddress.ip_address(sys.argv[1]).exploded)' "$2")
fi
for entry in "$port"/gids/*; do
  index=${entry##*/}
  if [[ $(< "$entry") == "$wanted" && $(cat "$port/gid_attrs/types/$index" 2> /dev/null) == "RoCE v2" ]]; then
    echo "$index"
    exit 0
  fi
done
echo "$1 has no RoCE v2 entry with $2" >&2
exit 1
