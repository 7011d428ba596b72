"""Secrets in configurations of switches stand in no output of `audit`, `adopt` and `diff`, nor in a file of `adopt`."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.conftest import fabricc  # noqa: F401 - a fixture
from tests.integrations.test_mcp import open_client
from tests.operate.lab import specs
from tests.operate.push.network import build_spec
from tests.operate.push.test_drivers import MODELS, SPEC

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Ran

pytestmark = pytest.mark.slow
PLANTED = {
    "eos": """\
username eve secret 0 @
enable password @
tacacs-server host 192.0.2.1 key 7 @
radius-server host 192.0.2.2 key @
snmp-server community @ ro
snmp-server user u1 g1 v3 localized f5717f auth sha @ priv aes @
ntp authentication-key 5 md5 7 @
router bgp 65000
   neighbor 192.0.2.9 password 7 @
interface Ethernet60/1
   ip ospf message-digest-key 7 sha512 7 @
   vrrp 1 peer authentication text @
mac security
   profile M
      key 0abc 7 @
daemon TerminAttr
   exec /usr/bin/TerminAttr -ingestauth=key,@ -cvcompression=gzip
event-handler e
   action bash curl -u admin:@ https://user:@@h.example/f
""",
    "nxos": """\
username eve password 0 @ role network-admin
tacacs-server host 192.0.2.1 key 7 "@" timeout 3
snmp-server community @ group network-operator
snmp-server user u2 network-admin auth sha-256 @ priv aes-128 @
ntp authentication-key 3 md5 @ 7
router bgp 65000
  neighbor 192.0.2.9
    password 3 @
interface Ethernet1/30
  ip pim hello-authentication ah-md5 3 @
  hsrp 1
    authentication md5 key-string @
key chain MS macsec
  key 01
    key-octet-string 7 @ cryptographic-algorithm AES_256_CMAC
nxapi certificate httpskey keyfile bootflash:k.key password @
""",
    "junos": """\
system { root-authentication { encrypted-password "@"; plain-text-password-value "@"; } }
system { tacplus-server { 192.0.2.1 secret "$9$@"; } }
snmp { community @ { authorization read-only; } }
snmp { v3 { usm { local-engine { user u1 { authentication-sha { authentication-key "$9$@"; } } } } } }
security { macsec { connectivity-association CA { pre-shared-key { ckn 37c9; cak "$9$@"; } } } }
protocols { bgp { group X { authentication-key "$9$@"; } } }
protocols { ospf { area 0.0.0.0 { interface et-0/0/60 { authentication { md5 1 key "$9$@"; } } } } }
""",
    "frr": """\
password @
router bgp 65000
 neighbor 192.0.2.9 password @
exit
key chain KC
 key 1
  key-string @
exit
interface swp60
 ip ospf message-digest-key 5 md5 @
 isis password md5 @
 ip rip authentication string @
 ipv6 ospf6 authentication key-id 1 hash-algo md5 key @
exit
router isis X
 area-password md5 @
exit
""",
    "sonic": """\
{"TACPLUS": {"global": {"passkey": "@"}}, "RADIUS_SERVER": {"192.0.2.2": {"passkey": "@"}},
 "SNMP_COMMUNITY": {"@": {"TYPE": "RO"}}, "NTP_KEY": {"3": {"type": "md5", "value": "@", "trusted": "yes"}},
 "SNMP_USER": {"u1": {"SNMP_USER_AUTH_PASSWORD": "@", "SNMP_USER_ENCRYPTION_PASSWORD": "@"}},
 "LDAP": {"global": {"bind_password": "@"}}, "MACSEC_PROFILE": {"p": {"primary_cak": "@", "primary_ckn": "6162"}},
 "BGP_NEIGHBOR": {"192.0.2.9": {"auth_password": "@", "asn": "65000"}}, "IPSEC": {"x": {"psk": "@"}},
 "KUBERNETES_MASTER": {"SERVER": {"ip": "192.0.2.6", "token": "@"}}}
""",
    "cumulus": """\
system:
  aaa: {user: {eve: {password: @}}, tacacs: {server: {1: {host: 192.0.2.1, secret: @}}}}
  snmp-server: {readonly-community: {@: {access: {any: {}}}}, username: {u1: {auth-sha: {@: {encrypt-aes: @}}}}}
  ntp: {key: {3: {value: @, type: md5}}}
vrf: {default: {router: {bgp: {neighbor: {192.0.2.9: {password: @}}}}}}
interface: {swp60: {router: {ospf: {authentication: {md5-key: @}}}}}
""",
}
FILES = {
    "eos": "running-config.cfg", "nxos": "running-config.cfg", "junos": "juniper.conf", "frr": "frr.conf",
    "sonic": "config_db.json", "cumulus": "startup.yaml",
}  # fmt: skip
AUDITED = ("text", "json", "sarif", "github", "junit", "gitlab", "html")
REVIEWED = ("text", "md", "json", "sarif", "github", "junit", "gitlab")


def number_secrets(text: str) -> tuple[str, list[str]]:
    """Return the text with a secret in the place of each `@`, and the secrets."""
    parts = text.replace("@@", "@\0").split("@")
    secrets = [f"Zq7{number:02}sEcretWord" for number in range(1, len(parts))]
    whole = parts[0] + "".join(secret + part for secret, part in zip(secrets, parts[1:], strict=True))
    return whole.replace("\0", "@"), secrets


def merge_values(old: Any, new: Any) -> Any:
    """Return a mapping with the keys of both, at every depth."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    return {**old, **{key: merge_values(old.get(key, {}), value) for key, value in new.items()}}


def plant(nos: str, text: str, planted: str) -> str:
    """Return a configuration with the planted statements."""
    if nos == "sonic":
        return json.dumps(merge_values(json.loads(text), json.loads(planted)), indent=1)
    if nos == "cumulus":
        entries = yaml.safe_load(text)
        part = next(one for one in entries if "set" in one)
        part["set"] = merge_values(part["set"], yaml.safe_load(planted))
        return yaml.safe_dump(entries)
    return text.replace("\nend\n", "\n") + planted + ("end\n" if nos == "eos" else "")


@pytest.mark.parametrize("nos", PLANTED)
def test_no_secret_of_a_switch_is_shown_or_written(
    nos: str,
    tmp_path: Path,
    fabricc: Callable[..., Ran],  # noqa: F811 - the fixture
) -> None:
    spec = specs.two_tiers(tmp_path / "spec", 2) if nos == "frr" else specs.write(
        tmp_path / "spec", SPEC.format(model=MODELS[nos], nos=nos)
    )  # fmt: skip
    folder = tmp_path / "switches"
    shutil.copytree(build_spec(spec, tmp_path / "out").tree / "switches", folder)
    planted, secrets = number_secrets(PLANTED[nos])
    for path in folder.glob(f"*/{FILES[nos]}"):
        path.write_text(plant(nos, path.read_text(), planted))
    changed = tmp_path / "changed"
    shutil.copytree(spec.parent, changed)
    (changed / f"overlay{Path(FILES[nos]).suffix}").write_text(planted)
    (changed / spec.name).write_text(
        f"{spec.read_text()}overlays: [{{file: overlay{Path(FILES[nos]).suffix}, nos: {nos}}}]\n"
    )
    shown = {}
    for format_ in AUDITED:
        ran = fabricc("audit", str(folder), "--format", format_)
        shown[f"audit {format_}"] = ran.out + ran.err
    ran = fabricc("adopt", str(folder), "-o", str(tmp_path / "adopted"))
    assert ran.status == 0, ran.err
    shown["adopt"] = ran.out + ran.err
    shown |= {str(path): path.read_text() for path in (tmp_path / "adopted").rglob("*") if path.is_file()}
    for format_ in REVIEWED:
        ran = fabricc("diff", str(spec), str(changed / spec.name), "--format", format_)
        shown[f"diff {format_}"] = ran.out + ran.err
    if nos == "frr":
        shown["mcp"] = asyncio.run(audit_by_mcp(folder))
    assert all(shown.values())
    assert [(what, one) for what, text in shown.items() for one in secrets if one in text] == []


async def audit_by_mcp(folder: Path) -> str:
    async with open_client(folder) as client:
        return str(await client.call_tool("audit", {"folder": "."}))
