"""What Junos cannot express of a switch's settings, or not in its release, as findings with a reason and a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.base import Gap
from fabricc.back.nos.junos.capabilities import lacking, since_release
from fabricc.back.nos.junos.vocabulary import CERTIFICATE, TEMPLATE_USER, flavour
from fabricc.fabric.facts import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabricc.fabric.model import Switch


def setting_gaps(switch: Switch) -> list[Gap]:
    """Every gap of this switch's settings and release, in the order of the codes."""
    return [*_services(switch), *_release(switch)]


def _services(switch: Switch) -> Iterator[Gap]:
    management = switch.management
    if management.access and ":" in management.address:
        yield Gap(
            "FAB5519",
            SETTINGS["management/access"],
            "the networks are IPv4 and this switch is managed over IPv6, so the filter would shut everyone out",
            "give the switch an IPv4 management address, or leave `access` out",
        )
    if management.gnmi_port is not None:
        yield Gap(
            "FAB5520",
            "a certificate for gNMI",
            f"Junos serves gRPC with a certificate of its own PKI store, here `{CERTIFICATE}`, which is no part of a "
            "configuration (Juniper, configure gRPC services)",
            f"load it once: `request security pki local-certificate load certificate-id {CERTIFICATE} …`",
            fatal=False,
        )
    if management.tacacs and any(user.name == TEMPLATE_USER for user in management.users):
        yield Gap(
            "FAB5521",
            f"an account named {TEMPLATE_USER} beside TACACS+",
            "Junos gives its rights to everyone whom TACACS+ authenticates and who has no account "
            "(Juniper, TACACS+ authentication)",
            "choose another name",
        )
    if switch.load_balancing.queue_pairs and not any(
        capability.feature == SETTINGS["load_balancing/queue_pairs"] for capability in lacking(switch)
    ):
        yield Gap(
            "FAB5522",
            SETTINGS["load_balancing/queue_pairs"],
            "there is no statement: devices that can do it hash queue pairs by default "
            "(Juniper, queue-pair hashing for RDMA flows)",
            "look for `RDMA Queue Pair: yes` in `show forwarding-options enhanced-hash-key`",
            fatal=False,
        )


def _release(switch: Switch) -> Iterator[Gap]:
    kind = flavour(switch)
    for capability in lacking(switch):
        since = since_release(capability, kind)
        yield Gap(
            "FAB5523",
            capability.feature,
            f"{capability.statement}: "
            + (f"since {since}" if since else f"nothing published for `{kind}`")
            + f" ({capability.source})",
            f"run {since} or later" if since else "leave it out, or use a switch of Junos OS Evolved",
        )
