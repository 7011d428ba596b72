#!/usr/bin/env bash
# A container that may use the fabric: container.sh IMAGE [COMMAND...]; CONTAINER_OPTIONS are put before the image.
# RDMA needs the devices and locked memory, not --privileged; NCCL looks for its settings inside the container.
set -euo pipefail
read -ra options <<< "${CONTAINER_OPTIONS:-}"
exec "${CONTAINER_TOOL:-docker}" run --rm --gpus all --network host --ipc host \
  --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1:-1 --ulimit stack=67108864 \
  --volume "${NCCL_CONF_FILE:-/etc/nccl.conf}:/etc/nccl.conf:ro" "${options[@]}" "$@"
