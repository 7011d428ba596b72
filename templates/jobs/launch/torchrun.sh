#!/usr/bin/env bash
# PyTorch on every host of the job: torchrun.sh SCRIPT [ARGUMENT...]
# The static rendezvous keeps the order of the host file; c10d and etcd would sort hosts by address.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
find_self
find_socket
exec torchrun --nnodes "$NNODES" --nproc-per-node "$SLOTS" --node-rank "$NODE_RANK" \
  --master-addr "$HEAD_HOST" --master-port "${MASTER_PORT:-29500}" "$@"
