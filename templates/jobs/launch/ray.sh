#!/usr/bin/env bash
# Ray on every host of the job: the first becomes the head, the others join it: ray.sh [OPTION...]
# A resource named after the scalable unit lets placement groups stay below one set of ToRs.
set -euo pipefail
# shellcheck source=place.sh
. "$(dirname "${BASH_SOURCE[0]}")/place.sh"
find_self
find_socket
find_address
# Ray before 2.49 joins an address and a port with a colon and refuses IPv6 (seen with 2.48.0, not with 2.49.2).
if [[ $ADDRESS == *:* && $(ray --version) =~ ([0-9]+)\.([0-9]+) ]] && ((BASH_REMATCH[1] * 1000 + BASH_REMATCH[2] < 2049)); then
  echo "Ray before 2.49 takes no IPv6 address such as $ADDRESS of $SELF: update Ray, or set VLLM_HOST_IP to an IPv4 address" >&2
  exit 2
fi
unit=$(awk -F, -v host="$SELF" '$1 == host {print $2}' "$FOLDER/../hosts.csv")
port=${RAY_PORT:-6379}
common=(--node-ip-address="$ADDRESS" --num-gpus="$SLOTS" --resources="{\"unit_$unit\": $SLOTS}" --block)
if ((NODE_RANK == 0)); then
  exec ray start --head --port="$port" "${common[@]}" "$@"
fi
exec ray start --address="$HEAD_HOST:$port" "${common[@]}" "$@"
