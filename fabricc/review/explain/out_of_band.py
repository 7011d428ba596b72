"""An address of the out-of-band network that is no fabric switch's: whose BMC, DPU or management switch has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.fabric.addresses import MANAGEMENT_RESERVED
from fabricc.fabric.management import address_owners, host_block, unit_place
from fabricc.fabric.out_of_band import OtherDevices, management_endpoints
from fabricc.fabric.out_of_band_cables import management_cables
from fabricc.fabric.shape import HostId
from fabricc.review.explain import formulas
from fabricc.review.explain.given_values import RULE, TABLES, identity_origins
from fabricc.review.explain.model import Details, Explanation, Formula, Origin, Source, single_explanation
from fabricc.review.explain.origins import PlanSources, stride_origins
from fabricc.review.explain.pools import DOCS, ContainingPool, management_rule

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from fabricc.fabric.fabric import Fabric
    from fabricc.fabric.management import Owner
    from fabricc.fabric.out_of_band import ManagementNetwork

    Address = IPv4Address | IPv6Address


def explain_endpoint(
    plan: PlanSources,
    address: Address,
    found: ContainingPool,
    network: ManagementNetwork,
    named: Details,
    where: Details,
) -> Explanation:
    """Return the owner of the address in a network of hosts or of management switches."""
    text, offset = str(address), int(address) - network.pool.first
    rule = management_rule(plan.fabric, found)
    of_network = (each for each in address_owners(plan.fabric) if each.place.network is network)
    owner = next((each for each in of_network if each.place.offset == offset), None)
    if owner is None:
        free = offset % network.size < MANAGEMENT_RESERVED
        nobody = "left free for gateways and servers" if free else "not assigned"
        title = ", ".join(use for use, _ in named) or nobody
        origins = plan.all_of([found.key, *(key for _, key in named)])
        return single_explanation("address", text, title, where, rule, origins, docs=DOCS)
    details = [("device", owner.device), ("port", owner.endpoint)]
    if cable := _cable_target(plan.fabric, owner):
        details.append(("cable", cable))
    details += (("prefix", f"{text}/{network.length}"), *where)
    kind = f"{owner.endpoint} of" if network.tier is OtherDevices.HOST else "management switch"
    title = f"{kind} {owner.device}"
    if owner.given:
        given = _table_cell(plan, owner)
        return single_explanation(
            "address", text, title, tuple(details), RULE, given, docs="fabricc docs identity"
        )
    at = plan.fabric.find(owner.device)
    steps: tuple[Formula, ...]
    if isinstance(at, HostId):
        steps = (_host_formula(plan.fabric, network, at, owner),)
        pins = (*stride_origins(plan, "host"), *identity_origins(plan, at.unit, at.slot))
        origins = (*plan.all_of([found.key]), *pins)
    else:
        switches = plan.fabric.out_of_band.switches
        number = switches.numbers.get(owner.device) if switches else None
        pins = () if number is None else (plan.lock_origin(f"switch {owner.device}", number),)
        steps, origins = (), (*plan.all_of([found.key, "management.switches"]), *pins)
    steps = (*steps, formulas.address_formula(network.pool, offset))
    return single_explanation("address", text, title, tuple(details), rule, origins, steps, docs=DOCS)


def _cable_target(fabric: Fabric, owner: Owner) -> str:
    """Return the far end of its port's cable, in words; "" if none is planned."""
    port, at = owner.endpoint, fabric.find(owner.device)
    if isinstance(at, HostId):
        found = management_endpoints(fabric.host_models[fabric.units[at.unit].group])
        port = next(each.port for each in found if each.name == owner.endpoint)
    rows = (
        row for row, _, _ in management_cables(fabric) if (row.a_device, row.a_port) == (owner.device, port)
    )
    return next((f"{port} to {row.b_device} {row.b_port}" for row in rows), "")


def _host_formula(fabric: Fabric, network: ManagementNetwork, at: HostId, owner: Owner) -> Formula:
    """Return offset of a host's endpoint in its network."""
    unit = fabric.units[at.unit]
    subnet, block = unit_place(fabric, network, unit)
    found = management_endpoints(fabric.host_models[unit.group])
    number = next(each.number for each in found if each.name == owner.endpoint)
    numbers: formulas.Numbers = {
        "subnet": subnet, "size": network.size, "reserved": MANAGEMENT_RESERVED, "block": block,
        "addresses": host_block(fabric, network), "slot": at.slot, "per_host": network.per_host, "number": number,
    }  # fmt: skip
    symbols = "subnet * size + reserved + block * addresses + slot * per_host + number"
    return formulas.make_formula("offset", symbols, numbers, owner.place.offset)


def _table_cell(plan: PlanSources, owner: Owner) -> tuple[Origin, ...]:
    """Return the cell of the table that contains an address."""
    rows = plan.spec.given_management
    row = next(each for each in rows if (each.device, each.port) == (owner.device, owner.endpoint))
    position = row.positions["address"]
    key = f"{TABLES}management {row.device} {row.port}"
    return (Origin(Source.SPEC, key, "", position, plan.snippet(position)),)
