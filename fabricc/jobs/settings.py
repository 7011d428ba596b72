"""Settings of collective libraries and the tables that launchers read: one file for all hosts, or one per kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.hosts import nccl
from fabricc.hosts.classes import nic_qos, tos_byte
from fabricc.hosts.templating import word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabricc.fabric.model import Host
    from fabricc.jobs.roster import Roster


def settings_files(hosts: Roster) -> dict[str, str]:
    """`nccl.conf`, `rccl.conf` and `ucx.conf`, and the tables `hostfile`, `hosts.csv` and `rails.csv`.

    RCCL takes NCCL's keys and looks for them under its own name. Where kinds of hosts differ in a file there is one
    `<file>-<model>.conf` per host model instead, numbered from the second text of one model on.

    Raises:
        ValueError: a name that these files cannot hold.
    """
    names = [kind.model.name for kind in hosts.kinds]
    texts = [nccl.render(kind) for kind in hosts.kinds]
    return {
        **_per_kind("nccl", names, texts),
        **_per_kind("rccl", names, texts),
        **_per_kind("ucx", names, [ucx(kind) for kind in hosts.kinds]),
        "hostfile": "".join([f"{word(host.name)} slots={host.gpus}\n" for host in hosts.hosts]),
        "hosts.csv": _hosts_csv(hosts),
        "rails.csv": _rails_csv(hosts),
    }


def ucx(host: Host) -> str:
    """UCX's settings, a line each, as its `ucx.conf` and as environment variables.

    `UCX_IB_…` applies to all of its RDMA transports; more paths than one give a connection several UDP source ports.
    """
    qos = nic_qos(host.classes)
    lines = [f"UCX_NET_DEVICES={','.join(f'{word(port.rdma)}:1' for port in host.ports)}"]
    if qos.rdma_dscp is not None:
        lines.append(f"UCX_IB_TRAFFIC_CLASS={tos_byte(qos.rdma_dscp)}")
    lines += ["UCX_IB_GID_INDEX=auto", f"UCX_IB_NUM_PATHS={host.recommended_qps}"]
    return "\n".join(lines) + "\n"


def _per_kind(stem: str, models: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    distinct: dict[str, str] = {}
    for model, text in zip(models, texts, strict=True):
        distinct.setdefault(text, model)
    if len(distinct) == 1:
        return {f"{stem}.conf": next(iter(distinct))}
    files: dict[str, str] = {}
    used: dict[str, int] = {}
    for text, model in distinct.items():
        used[model] = used.get(model, 0) + 1
        number = f"-{used[model]}" if used[model] > 1 else ""
        files[f"{stem}-{word(model)}{number}.conf"] = text
    return files


def _hosts_csv(hosts: Roster) -> str:
    lines = ["host,unit,pod,gpus,first_rank,model\n"]
    rank = 0
    for host in hosts.hosts:
        model = word(hosts.kinds[host.kind].model.name)
        lines.append(f"{host.name},{word(host.unit)},{host.pod or ''},{host.gpus},{rank},{model}\n")
        rank += host.gpus
    return "".join(lines)


def _rails_csv(hosts: Roster) -> str:
    lines = ["model,rail,nic_port,interface,rdma_device,speed_gbps,pci\n"]
    for kind in hosts.kinds:
        for port in kind.ports:
            row = (kind.model.name, port.rail, port.nic_port, port.name, port.rdma, port.speed_gbps, port.pci)
            lines.append(",".join(map(str, row)) + "\n")
    return "".join(dict.fromkeys(lines))
