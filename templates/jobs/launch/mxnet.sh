#!/usr/bin/env bash
# MXNet's parameter server on every host of the job: mxnet.sh scheduler|server|worker COMMAND [ARGUMENT...]
# It speaks TCP over the management network. For collectives over the fabric run Horovod by mpirun.sh instead.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
find_self
find_socket
case ${1:-} in
  scheduler | server | worker) role=$1 ;;
  *)
    echo "usage: mxnet.sh scheduler|server|worker COMMAND..." >&2
    exit 2
    ;;
esac
shift
export DMLC_ROLE=$role DMLC_PS_ROOT_URI=$HEAD_HOST DMLC_PS_ROOT_PORT=${DMLC_PS_ROOT_PORT:-9091}
export DMLC_NUM_WORKER=$NNODES DMLC_NUM_SERVER=${DMLC_NUM_SERVER:-$NNODES}
if [[ -n $SOCKET_INTERFACE ]]; then
  export DMLC_INTERFACE=$SOCKET_INTERFACE
fi
exec "$@"
