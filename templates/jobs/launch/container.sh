#!/usr/bin/env bash
# A container that may use the fabric: container.sh IMAGE [COMMAND...]; CONTAINER_OPTIONS are put before the image.
# RDMA needs the devices and locked memory, not --privileged; NCCL looks for its settings inside the container.
set -euo pipefail
# GPU_VENDOR is nvidia or amd, by default as the host has a device of the AMD driver.
read -ra options <<< "${CONTAINER_OPTIONS:-}"
gpus=(--gpus all) settings=/etc/nccl.conf
if [[ ${GPU_VENDOR:-$([[ -e /dev/kfd ]] && echo amd)} == amd ]]; then
  gpus=(--device /dev/kfd --device /dev/dri --group-add video --group-add render) settings=/etc/rccl.conf
fi
exec "${CONTAINER_TOOL:-docker}" run --rm "${gpus[@]}" --network host --ipc host \
  --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1:-1 --ulimit stack=67108864 \
  --volume "${NCCL_CONF_FILE:-$settings}:$settings:ro" "${options[@]}" "$@"
