#!/usr/bin/env bash
# TensorFlow on every host of the job: tensorflow.sh COMMAND [ARGUMENT...]; without a command it prints TF_CONFIG.
# MultiWorkerMirroredStrategy takes its collectives from NCCL; the addresses here carry gRPC only.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
find_self
find_socket
workers=$(printf ', "%s"' "${HOSTS[@]/%/:${TF_PORT:-2222}}")
# shellcheck disable=SC2089  # the quotes are JSON's
printf -v TF_CONFIG '{"cluster": {"worker": [%s]}, "task": {"type": "worker", "index": %d}}' "${workers:2}" "$NODE_RANK"
# shellcheck disable=SC2090
export TF_CONFIG
if (($# == 0)); then
  echo "$TF_CONFIG"
else
  exec "$@"
fi
