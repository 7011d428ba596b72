"""Secrets in configuration lines of six systems are found, and nothing else is taken for one."""

from __future__ import annotations

import signal

import pytest

from fabricc.base.secret_words import hide_secret_words, secret_spans, secrets_by_line

SECRET_LINES = """
enable password sha512 $6$S01abcdefgh
username eve privilege 15 secret 5 $1$S02abcdef
username ada role network-admin secret S03plainword
tacacs-server host 10.1.1.1 vrf MGMT key 7 S04abcdef0102
tacacs-server host 10.1.1.2 key S05plain
radius-server key S06plain
snmp-server community S07community rw LIST
snmp-server host 10.1.1.4 traps version 2c S08community
snmp-server user bob grp v3 auth sha S09authpw priv aes S09privpw
snmp-server user bob grp v3 localized f5717f001c aut sha S10authkey priv aes S10privkey
snmp-server user admin auth sha S11authkey priv S11privkey localizedV2key
snmp-server mib community-map S12comm context c
ntp authentication-key 4 md5 7 S13ntpkey
ntp authentication-key 4 md5 S14ntpkey 7
ntp authentication-key 7 md5 S14akey 7
   neighbor 10.9.9.9 password 7 S15bgpkey==
 neighbor 10.9.9.9 password S16bgp
   ip ospf authentication-key 7 S17ospf
 ip ospf message-digest-key 1 md5 3 S18ospfmd5
   isis authentication key 7 S19isis
 isis password md5 S20isis
 area-password clear S21area
   vrrp 1 peer authentication text S22vrrp
    authentication md5 key-string S23hsrp
      secret 0 7 S24shared receive-lifetime infinite
      key 1234abcd 7 S25macsec
    key-octet-string 7 S26macsec cryptographic-algorithm AES_256_CMAC
   exec /usr/bin/TerminAttr -cvauth=token-secure,S27token -taillogs
   action bash curl -u admin:S28curl https://x
copy https://admin:S29url@10.1.1.1/x flash:
    encrypted-password "$6$S30abcdef";
    community S31community {
set snmp community S32community authorization read-only
    trap-group S33community {
        privacy-key "$9$S34priv"; ## SECRET-DATA
        authentication { md5 1 key "$9$S35ospfmd5"; simple-password "$9$S36ospf"; }
        pre-shared-key { ckn 37c9c2c45ddd012aa5bc8ef284aa23ff; cak "$9$S37cak"; }
        pre-shared-key ascii-text "$9$S38psk";
        "-----BEGIN PRIVATE KEY-----\\nS39key";
        keys { key "S40license"; }
            secret: $nvsec$S41secret
            password: S42plain
              md5-key: S43ospf
                encrypt-aes: S44privpw
        "passkey": "S45passkey",
            "auth_password": "S46bgp",
            "primary_cak": "S47macsec",
            "SNMP_USER_AUTH_PASSWORD": "S48auth",
            "Community": "S49community",
        "bind_password": "S50ldap"
SNMP_COMMUNITY|S51community TYPE: RW
system license keys key S29license
key config-key ascii 7 S29config
nv set system snmp-server readonly-community S29comm access any
nv set system snmp-server username bob auth-sha S29auth encrypt-aes S29priv
set snmp v3 usm local-engine user bob privacy-aes128 privacy-password S29privacy
telemetry collector token S53plainword
    key: S54plainword
  - "key": "S55plainword"
    use-apikey S55api
   "api_key": "S55api"
telemetry-x api-key 7 S55api
snmp-x community S55community ro
snmp-x communities S55community
snmp view all rw-community S55community
        authentication-key 1 type md5 value "S55clock";
        shared "S55word"; ## SECRET-DATA
   exec /usr/bin/TerminAttr -ingestauth=key,S56ingest -cvcompression=gzip
   exec /usr/bin/TerminAttr -cvauth=key,S56ingest -taillogs
   ip ospf message-digest-key 1 sha512 7 S57ospf
snmp-server community 7 S58community ro
            plain-text-password-value "S59plain";
 ip rip authentication string S60rip
 ip nhrp authentication S61nhrp
  ip pim hello-authentication ah-md5 3 S62pim
  shared-key S63ipsec
        "token": "S64kubernetes"
            "psk": "S65psk"
snmp_rocommunity: S66community
ntp authentication-key 3 aes128cmac 0 S67ntp
ntp authentication-key 5 md5 7 S67ntp
   ip ospf message-digest-key 7 md5 7 S67ospf
nv set system ntp key 1 value S68ntp
nv set service ntp mgmt key 3 value S68ntp
 ipv6 ospf6 authentication key-id 1 hash-algo hmac-sha-256 key S68ospf
Authorization: Bearer S69bearer
  snmp-server: {readonly-community: {S69community: {access: {any: {}}}}}
"SNMP_COMMUNITY": {"S69community": {"TYPE": "RO"}}
""".strip("\n").splitlines()
PLAIN_LINES = """
snmp-server group g v3 priv read all
ntp server 10.1.1.1 key 7 prefer
ntp trusted-key 4
service password-encryption
password encryption-key common
password strength-check
username ops secret *
username ops nopassword
username ops ssh-key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGcNvPKesg8 ops@host
neighbor 10.9.9.9 password FABRICC-SECRET-core
ntp authentication-key 4 md5 FABRICC-SECRET-clock 7
neighbor 10.9.9.9 password 7 FABRICC-KEPT-1.
key chain K
 key 1
set community 65000:1 additive
community FABRIC members 65000:1;
from community FABRIC;
neighbor X send-community standard extended
the password of the session is not set
snmp-server enable traps snmp authentication
the SNMP community is not set
"FEATURE": {"state": "enabled"}
password <hidden>
    authentication string <hidden>
 exec /usr/bin/TerminAttr -cvauth=token,<hidden>
nv set qos mapping p dscp 26 value 3
   ip pim hello-authentication ah-md5
""".strip("\n").splitlines()


@pytest.mark.parametrize("line", SECRET_LINES)
def test_each_secret_of_a_line_is_hidden(line: str) -> None:
    shown = hide_secret_words(line)
    assert "<hidden>" in shown
    assert not any(f"S{number:02}" in shown for number in range(1, 70)), shown


@pytest.mark.parametrize("line", PLAIN_LINES)
def test_a_line_without_a_secret_stays_as_it_is(line: str) -> None:
    assert secret_spans(line) == []
    assert hide_secret_words(line) == line


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"SNMP_COMMUNITY": {\n    "ours1": {\n        "TYPE": "RO"\n    }\n}', [(2, "ours1")]),
        ("readonly-community:\n  ours1:\n    access:\n      any: {}", [(2, "ours1")]),
        ("auth-sha:\n  longpass:\n    encrypt-aes: other", [(2, "longpass"), (3, "other")]),
        (
            '"NTP_KEY": {\n    "4": {\n        "type": "md5",\n        "value": "clock"\n    }\n}',
            [(4, "clock")],
        ),
        ('"QUEUE": {\n    "4": {\n        "value": "clock"\n    }\n}', []),
        ("readonly-community: {ours1: {access: {any: {}}}, ours2: {}}", [(1, "ours1"), (1, "ours2")]),
        ("snmp:\n  communities:\n    ours1: {}\n    ours2:\n      access: any", [(3, "ours1"), (4, "ours2")]),
        ("snmp:\n  communities:\n    - ours1\n    - 'ours2'", [(3, "ours1"), (4, "ours2")]),
        ("snmp:\n  rw-community: ours1\n  port: 161", [(2, "ours1")]),
        ("bgp:\n  community:\n    no-export: {}\n  community-list:\n    BLOCK: {}", []),
    ],
)
def test_a_key_of_a_structured_file_can_be_the_secret(text: str, found: list[tuple[int, str]]) -> None:
    assert list(secrets_by_line(text)) == found


@pytest.mark.parametrize(
    "words",
    [
        "a", "-", "tacacs ", "radius-server ", "snmp-server host ", "license ", "token-", "://a", "key 7 ", "_cak_",
        'password "a', "secret 1 ", "x_", "snmp ", "snmp-", "api-key", "snmp community ", '"a', '"a"; ',
    ],
)  # fmt: skip
def test_the_time_for_a_line_is_proportional_to_its_length(words: str) -> None:
    """It was quadratic while each character of a long word was a beginning."""
    line = (words * (50_000 // len(words))) + " key"
    before = signal.signal(signal.SIGPROF, _stop_test)
    signal.setitimer(signal.ITIMER_PROF, 30)
    try:
        assert hide_secret_words(line)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _stop_test(*_: object) -> None:
    pytest.fail("30 seconds of processor time for one line")
