"""No secret of a running configuration is in what readers state, findings show, or a push stores and prints."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from fabricc.audit.adopt.trial import secret_places
from fabricc.back import nos as back_ends
from fabricc.base.diagnostics import Diagnostic, Position, Severity
from fabricc.base.diagnostics.formats import render_text
from fabricc.operate.push.secret_store import extract_secrets, hide_secrets
from fabricc.proof.compare import compare, device_findings
from fabricc.review.diff.view import mask_secrets
from tests.audit.fabrics import device

if TYPE_CHECKING:
    from fabricc.fabric.facts import Reading

CONFIGURATIONS = {
    "eos": (
        "running-config.cfg",
        """
enable password sha512 $6$PLANT01abcdefgh
username ada role network-admin secret PLANT02plainword
tacacs-server host 10.1.1.1 vrf MGMT key 7 PLANT03abcdef
tacacs-server key 7 PLANT04abcdef
radius-server host 10.1.1.3 key 7 PLANT05abcdef
snmp-server community PLANT06community ro
snmp-server host 10.1.1.4 version 2c PLANT07community
snmp-server user bob grp v3 auth sha PLANT08authpw priv aes PLANT09privpw
ntp authentication-key 4 md5 7 PLANT10ntpkey
interface Ethernet1/1
   ip ospf message-digest-key 1 md5 7 PLANT11ospfmd5
   vrrp 1 peer authentication text PLANT12vrrp
router bgp 65000
   neighbor 10.9.9.9 remote-as 65001
   neighbor 10.9.9.9 password 7 PLANT13bgpkey==
""",
    ),
    "nxos": (
        "running-config.cfg",
        """
username eve password 5 $5$PLANT01abcdef role network-admin
tacacs-server host 10.1.1.1 key 7 "PLANT02abcdef"
snmp-server community PLANT03community group network-operator
snmp-server user bob network-admin auth md5 0xPLANT04authpw priv aes-128 0xPLANT05privpw localizedkey
ntp authentication-key 4 md5 PLANT06ntpkey 7
router bgp 65000
  neighbor 10.9.9.9
    remote-as 65001
    password 3 PLANT07bgpkey
key chain M macsec
  key 01
    key-octet-string 7 PLANT08macsec cryptographic-algorithm AES_256_CMAC
""",
    ),
    "junos": (
        "juniper.conf",
        """
system {
    root-authentication { encrypted-password "$6$PLANT01abcdefgh"; }
    tacplus-server { 10.1.1.1 { secret "$9$PLANT02abcdef"; } }
    ntp { authentication-key 4 { type md5; value "$9$PLANT03ntpkey"; } }
}
snmp {
    community PLANT04community { authorization read-only; }
    trap-group PLANT05community { targets { 10.1.1.4; } }
}
protocols { bgp { group X { authentication-key "$9$PLANT06bgpkey"; neighbor 10.9.9.9; } } }
security { macsec { connectivity-association CA { pre-shared-key { ckn 37c9; cak "$9$PLANT07macsec"; } } } }
interfaces { et-0/0/1 { unit 7 { family inet { address 10.77.0.1/24 { vrrp-group 1 {
    virtual-address 10.77.0.3; authentication-key "$9$PLANT08vrrp"; } } } } } }
""",
    ),
    "cumulus": (
        "startup.yaml",
        """
- header:
    model: vx
    nvue-api-version: nvue_v1
    rev-id: 1.0
    version: Cumulus Linux 5.15.0
- set:
    interface:
      swp1:
        router:
          ospf:
            authentication:
              md5-key: PLANT01ospf
    system:
      aaa:
        tacacs:
          server:
            '10':
              host: 10.1.1.1
              secret: $nvsec$PLANT02tacacs
      snmp-server:
        readonly-community:
          PLANT03community:
            access:
              any: {}
        username:
          bob:
            auth-sha:
              PLANT04authpw:
                encrypt-aes: PLANT05privpw
    vrf:
      default:
        router:
          bgp:
            neighbor:
              10.9.9.9:
                password: PLANT06bgp
""",
    ),
    "sonic": (
        "config_db.json",
        json.dumps(
            {
                "TACPLUS": {"global": {"passkey": "PLANT01tacacs"}},
                "TACPLUS_SERVER": {"10.1.1.1": {"passkey": "PLANT02tacacs"}},
                "SNMP_COMMUNITY": {"PLANT03community": {"TYPE": "RO"}, "PLANT04community": {"TYPE": "RW"}},
                "SNMP_USER": {"bob": {"SNMP_USER_AUTH_PASSWORD": "PLANT05auth"}},
                "NTP_KEY": {"4": {"type": "md5", "value": "PLANT06ntpkey"}},
                "BGP_NEIGHBOR": {"10.9.9.9": {"asn": "65001", "auth_password": "PLANT07bgp"}},
                "MACSEC_PROFILE": {"m": {"primary_cak": "PLANT08macsec"}},
            },
            indent=4,
        ),
    ),
    "frr": (
        "frr.conf",
        """
password PLANT01vty
enable password PLANT02enable
router bgp 65000
 neighbor 10.9.9.9 remote-as 65001
 neighbor 10.9.9.9 password PLANT03bgp
interface swp1
 ip ospf message-digest-key 1 md5 PLANT04ospfmd5
 isis password clear PLANT05isis
key chain K
 key 1
  key-string PLANT06key
""",
    ),
}  # fmt: skip
PLANTED = re.compile(r"PLANT\d\d\w*")


def reading_of(system: str) -> Reading:
    file, text = CONFIGURATIONS[system]
    return back_ends.load(system).read({file: text})


@pytest.mark.parametrize("system", CONFIGURATIONS)
def test_facts_and_unknown_lines_have_no_secret(system: str) -> None:
    reading = reading_of(system)
    assert not PLANTED.search(repr(reading.facts))
    assert not PLANTED.search(repr(reading.unknown))
    assert not PLANTED.search(repr(reading.lines))
    assert (
        "set" in {value for path, value in reading.facts.items() if path.endswith("/secret")}
        or system == "frr"
    )


@pytest.mark.parametrize("system", CONFIGURATIONS)
def test_findings_about_a_configuration_show_no_secret(system: str) -> None:
    file, text = CONFIGURATIONS[system]
    reading = reading_of(system)
    found = [
        Diagnostic(each.code, each.severity, each.message, Position(file, each.line or 1, 1))
        for each in device_findings("tor1", compare({}, reading), reading.unknown)
    ]
    every = [
        Diagnostic("FAB6003", Severity.ERROR, "here", Position(file, number, 1))
        for number in range(1, text.count("\n") + 1)
    ]
    assert not PLANTED.search(str(render_text([*found, *every], {file: text})))


@pytest.mark.parametrize("system", CONFIGURATIONS)
def test_a_push_stores_marks_and_prints_no_secret(system: str) -> None:
    file, text = CONFIGURATIONS[system]
    stored, secrets = extract_secrets(system, {file: text})
    assert not PLANTED.search(stored[file])
    restored = stored[file]
    for mark, secret in secrets.items():
        restored = restored.replace(mark, secret)
    assert restored == text
    diff = "".join(f"-{line}\n" for line in text.splitlines())
    assert not PLANTED.search(hide_secrets(diff, {file: text}))


@pytest.mark.parametrize("system", CONFIGURATIONS)
def test_a_review_and_an_adopted_spec_have_no_line_with_a_secret(system: str) -> None:
    file, text = CONFIGURATIONS[system]
    own = secret_places(device("tor1", system, {file: text}))
    planted = {(file, number) for number, line in enumerate(text.split("\n"), 1) if PLANTED.search(line)}
    assert planted <= own
    if system not in ("cumulus", "sonic"):  # there the key of a line before shows that a line has a secret
        assert not PLANTED.search("\n".join(mask_secrets(line) for line in text.split("\n")))
