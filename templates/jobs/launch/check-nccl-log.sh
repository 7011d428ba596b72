#!/usr/bin/env bash
# Whether a job really ran over the fabric: check-nccl-log.sh LOG...
# The job must have run with NCCL_DEBUG=INFO (and NCCL_DEBUG_SUBSYS unset or with INIT,NET,GRAPH).
# 0: all connections between hosts by RDMA from GPU memory, on all devices of the settings; 1: not; 2: no evidence.
set -euo pipefail
if (($# == 0)); then
  echo "usage: check-nccl-log.sh LOG..." >&2
  exit 2
fi
settings=${NCCL_CONF_FILE:-/etc/nccl.conf}
lines() { cat -- "${logs[@]}" | grep -E "$1" || true; }
count() { lines "$1" | wc -l; }
logs=("$@")

direct=$(count 'via NET/IB/[^ ]*/GDRDMA')
copied=$(($(count 'via NET/IB/') - direct))
socket=$(count 'via NET/Socket/|NET/Socket : Using')
used=$(lines 'NET/IB : Using')
echo "connections: $direct NET/IB with GDRDMA, $copied NET/IB through host memory, $socket mentions of NET/Socket"
status=0
if ((socket > 0)); then
  echo "FAULT: NET/Socket: NCCL did not find the RDMA devices, or was told not to use them"
  status=1
fi
if ((copied > 0)); then
  echo "FAULT: NET/IB without GDRDMA: GPU memory goes through the host; load nvidia_peermem or use DMA-BUF, disable ACS"
  status=1
fi
if [[ -n $used && -r $settings ]]; then
  devices=$(sed -n 's/^NCCL_IB_HCA==*//p' "$settings")
  IFS=, read -ra expected <<< "$devices"
  for entry in "${expected[@]}"; do
    # device:port, which rail and plane may follow in the settings and, from NCCL 2.30 on, in the log.
    IFS=: read -r name port _ <<< "$entry"
    device=$name:$port
    if ! grep -qE "\]${device}(:[0-9]*)*/" <<< "$used"; then
      echo "FAULT: $device is in $settings, and NCCL did not use it"
      status=1
    fi
  done
fi
if ((status == 0 && direct == 0)); then
  echo "no connection between hosts in these logs: did the job span hosts, and run with NCCL_DEBUG=INFO?"
  exit 2
fi
exit "$status"
