"""Allowed content of `external`: prefixes, addresses and AS numbers of others; errors suggest valid values."""

from __future__ import annotations

import pytest

from tests.front.spec.samples import SHORT, format_findings, load

LINK = "{at: spine01a, port: swp64, speed_gbps: 400, peer: core-1, peer_port: et-0/0/1, local: 192.0.2.0/31}"


def find_messages(party: str, more: str = "") -> list[str]:
    """The findings about a party, without their places and warnings."""
    findings = format_findings(f"{SHORT}{more}external: {{core: {party}}}\n")
    return [each.partition(" ")[2] for each in findings if " warning " not in each]


def test_external_party_has_its_values_and_defaults() -> None:
    spec = load(
        f"{SHORT}external: {{core: {{asn: 64999, password: {{secret: core}}, links: [{LINK}]}}}}\n"
    ).spec
    assert spec is not None
    (party,) = spec.external
    assert (party.asn, party.password, party.maximum_prefixes) == (64999, "FABRICC-SECRET-core", 16)
    assert [(rule.prefix, rule.le) for rule in party.accept] == [("0.0.0.0/0", None)]
    assert (party.trusted, party.lossless, party.mtu) == (False, False, spec.switch_mtu)
    (link,) = party.links
    assert (link.ipv4, link.remote4, link.ipv6, link.medium, link.cable_m) == (
        "192.0.2.0/31", "192.0.2.1", None, "smf", 40,
    )  # fmt: skip


def test_a_lossless_party_is_trusted_too() -> None:
    spec = load(f"{SHORT}external: {{core: {{asn: 64999, lossless: true, links: [{LINK}]}}}}\n").spec
    assert spec is not None
    assert spec.external[0].trusted


WRONG = {
    f"{{maximum_prefixes: 4, links: [{LINK}]}}": "FAB2090 external.core.maximum_prefixes is a setting of BGP, and the "
    "party has no asn | Remove it, or add `asn` of the party's routers.",
    f"{{asn: 4200000001, links: [{LINK}]}}": "FAB2095 external.core: AS 4200000001 is one of the 1,048,576 from "
    "routing.asn_base 4200000000 on, which are the fabric's | Write the AS number of the party's own routers.",
    f"{{asn: 23456, links: [{LINK}]}}": "FAB2095 external.core: AS 23456 is reserved (RFC 6793) | Write the AS "
    "number of "
    "the party's own routers.",
    f"{{asn: 1, accept: [10.1.0.0/16], links: [{LINK}]}}": "FAB2092 external.core.accept[0]: 10.1.0.0/16 overlaps "
    "addressing.hosts 10.0.0.0/10, which is inside | Use prefixes without addresses of "
    "the fabric, or a default route.",
    f"{{asn: 1, accept: [172.16.9.0/24], links: [{LINK}]}}": "FAB2092 external.core.accept[0]: 172.16.9.0/24 overlaps "
    "management.network 172.16.0.0/16, which is inside | Use prefixes without addresses of "
    "the fabric, or a default route.",
    f"{{asn: 1, accept: [0.0.0.0/0 le 24], links: [{LINK}]}}": "FAB2092 external.core.accept[0]: 0.0.0.0/0 overlaps "
    "addressing.hosts 10.0.0.0/10, which is inside | Use prefixes without addresses of "
    "the fabric, or a default route.",
    f"{{accept: [198.18.0.0/16 le 24], links: [{LINK}]}}": "FAB2092 external.core.accept[0]: a static route is for "
    "198.18.0.0/16 itself | Write the prefixes one by one, or add `asn` for BGP.",
    f"{{asn: 1, accept: [198.18.0.0/16 le 16], links: [{LINK}]}}": "FAB2092 external.core.accept[0]: a /16 has no more "
    "specific prefixes up to /16 | It ranges from 17 to 32.",
    f"{{asn: 1, accept: [198.18.0.1/16], links: [{LINK}]}}": "FAB2031 external.core.accept[0]: 198.18.0.1/16 is not on "
    "the boundary of a /16 | Write 198.18.0.0/16.",
    f"{{asn: 1, accept: ['2001:db8::/32'], links: [{LINK}]}}": "FAB2092 external.core.accept[0]: the fabric carries no "
    "IPv6 | Remove it, or write `addressing: {family: dual}`.",
    f"{{asn: 1, accept: [198.18.0.0/16, 198.18.0.0/16], links: [{LINK}]}}": "FAB2092 external.core.accept[1]: "
    "198.18.0.0/16 appears twice | It is accept[0] already.",
}


@pytest.mark.parametrize("party", WRONG)
def test_impossible_parties_are_rejected_with_a_remedy(party: str) -> None:
    assert find_messages(party) == [WRONG[party]]


ADDRESSES = {
    "10.64.0.0/31": "FAB2094 external.core.links[0].local: 10.64.0.0/31 overlaps addressing.links 10.64.0.0/10 "
    "| Number "
    "the link from a network that neither the fabric nor another link has.",
    "192.0.2.0/30": "FAB2093 external.core.links[0].local: 192.0.2.0 is not a host address of a link in "
    "192.0.2.0/30 | Usable "
    "in it: 192.0.2.1 to 192.0.2.2.",
    "192.0.2.1/32": "FAB2093 external.core.links[0].local: 192.0.2.1 is not a host address of a link in "
    "192.0.2.1/32 | A link "
    "needs two addresses.",
    "192.0.2.9/29": "FAB2093 external.core.links[0].local: the far end has no address in 192.0.2.8/29 | Add "
    "`remote`, an "
    "address in 192.0.2.8/29.",
    "192.0.2.9/29, remote: 192.0.2.17": "FAB2093 external.core.links[0].remote 192.0.2.17 is not in "
    "192.0.2.8/29 | Write "
    "another address of 192.0.2.8/29.",
    "192.0.2.9/29, remote: 192.0.2.9": "FAB2093 external.core.links[0].remote 192.0.2.9 is the switch's own | Write "
    "another address of 192.0.2.8/29.",
    "192.0.300.0/31": "FAB2030 external.core.links[0].local: '192.0.300.0/31' is not an address with a prefix "
    "length | ",
}


@pytest.mark.parametrize("local", ADDRESSES)
def test_external_link_addresses_are_unique(local: str) -> None:
    link = LINK.replace("192.0.2.0/31", local)
    assert find_messages(f"{{asn: 64999, links: [{link}]}}") == [ADDRESSES[local]]


def test_two_links_share_no_subnet() -> None:
    second = LINK.replace("192.0.2.0/31", "192.0.2.1/30").replace("swp64", "swp63")
    assert find_messages(f"{{asn: 64999, links: [{LINK}, {second}]}}") == [
        "FAB2094 external.core.links[1].local: 192.0.2.0/30 overlaps external.core.links[0].local 192.0.2.0/31 "
        "| Number the "
        "link from a network that neither the fabric nor another link has."
    ]


def test_a_link_has_an_address_of_every_family() -> None:
    assert find_messages(f"{{asn: 64999, links: [{LINK}]}}", "addressing: {family: dual}\n") == [
        "FAB2093 external.core.links[0] has no local6 address, and the fabric carries IPv6 | For example: local6: "
        "2001:db8::/127, or a `network6` of the party that its links are numbered from."
    ]


def test_infiniband_has_no_ways_out() -> None:
    text = "cluster: ib\nfabric: infiniband\ngpus: {model: dgx-h100, hosts: 8, hosts_per_unit: 8}\n"
    text += f"tors: {{model: qm9700}}\nspines: {{model: qm9700}}\nexternal: {{core: {{links: [{LINK}]}}}}\n"
    assert [each for each in format_findings(text) if "external" in each]


NUMBERED = LINK.replace(", local: 192.0.2.0/31", "")


def test_link_network_is_unique_and_of_a_used_family() -> None:
    assert "local" not in NUMBERED
    assert find_messages(f"{{asn: 64999, network: 192.0.2.0/24, links: [{NUMBERED}]}}") == []
    assert find_messages(f"{{asn: 64999, network: 10.0.0.0/24, links: [{NUMBERED}]}}")[0].startswith(
        "FAB2094 external.core.network: 10.0.0.0/24 overlaps addressing.hosts 10.0.0.0/10"
    )
    assert find_messages(f"{{asn: 64999, network: 192.0.2.1/24, links: [{NUMBERED}]}}")[0].startswith(
        "FAB2031 "
    )
    assert find_messages(f"{{asn: 64999, network: 192.0.2.1/32, links: [{NUMBERED}]}}")[0].startswith(
        "FAB2093 external.core.network: 192.0.2.1/32 has fewer than two addresses for a link"
    )
    assert find_messages(
        f"{{asn: 64999, network: 192.0.2.0/24, network6: '2001:db8::/64', links: [{NUMBERED}]}}"
    ) == [
        "FAB2093 external.core.network6: the fabric carries no IPv6 | Remove it, or write `addressing: {family: dual}`."
    ]
