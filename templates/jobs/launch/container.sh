#!/usr/bin/env bash
# A container that may use the fabric: container.sh IMAGE [COMMAND...]; CONTAINER_OPTIONS are put before the image.
# RDMA needs the devices and locked memory, not --privileged; NCCL looks for its settings inside the container.
set -euo pipefail
# CONTAINER_TOOL is docker or podman, by default the one that the host has (RHEL has podman alone).
tool=${CONTAINER_TOOL:-$(command -v docker > /dev/null || ! command -v podman > /dev/null || echo podman)}
tool=${tool:-docker}
read -ra options <<< "${CONTAINER_OPTIONS:-}"
gpus=(--gpus all) settings=/etc/nccl.conf
if [[ ${tool##*/} == podman ]]; then
  # podman gets GPUs by the Container Device Interface (NVIDIA Container Toolkit, CDI support: `nvidia-ctk cdi generate`),
  # and SELinux would keep a container off the devices.
  gpus=(--device nvidia.com/gpu=all)
  options+=(--security-opt label=disable)
fi
# GPU_VENDOR is nvidia or amd, by default as the host has a device of the AMD driver.
if [[ ${GPU_VENDOR:-$([[ -e /dev/kfd ]] && echo amd)} == amd ]]; then
  gpus=(--device /dev/kfd --device /dev/dri --group-add video --group-add render) settings=/etc/rccl.conf
fi
if [[ ! -f ${NCCL_CONF_FILE:-$settings} ]]; then
  echo "this host has no ${NCCL_CONF_FILE:-$settings}: copy the settings there, or name them in NCCL_CONF_FILE" >&2
  exit 2
fi
# What Gloo, NVSHMEM and MoRI read instead of those settings: the interface for sockets, and the files of this kind of host.
environment=() folder=${BASH_SOURCE[0]%/*}/.. host=${FABRICC_HOST:-$HOSTNAME} kind=
while IFS= read -r line; do
  if [[ $line =~ ^NCCL_SOCKET_IFNAME==*([^=,]+)$ && -e ${SYSFS:-/sys}/class/net/${BASH_REMATCH[1]} ]]; then
    environment+=(--env "GLOO_SOCKET_IFNAME=${BASH_REMATCH[1]}")
  fi
done < "${NCCL_CONF_FILE:-$settings}"
while IFS=, read -r name _ _ _ _ model _; do
  if [[ $name == "${host%%.*}" ]]; then kind=$model; fi
done < <(cat "$folder/hosts.csv" 2> /dev/null)
for file in "$folder"/{nvshmem,mori}{,"-$kind"}.env; do
  if [[ -r $file ]]; then environment+=(--env-file "$file"); fi
done
exec "$tool" run --rm "${gpus[@]}" "${environment[@]}" --network host --ipc host \
  --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1:-1 --ulimit stack=67108864 \
  --volume "${NCCL_CONF_FILE:-$settings}:$settings:ro" "${options[@]}" "$@"
