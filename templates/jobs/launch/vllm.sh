#!/usr/bin/env bash
# vLLM on the Ray cluster of ray.sh, started on its head: vllm.sh MODEL [OPTION...]
# Tensor parallel inside a host, over NVLink; pipeline parallel across hosts, over the fabric.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
find_self
find_socket
find_address
exec vllm serve "$@" --tensor-parallel-size "$SLOTS" --pipeline-parallel-size "$NNODES" \
  --distributed-executor-backend ray
