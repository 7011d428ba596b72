"""The blocks of a running configuration that are about few lines, and how deep a line is in one."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.back.nos.cli_dialect.read_policy import prefix_lengths
from fabricc.back.nos.eos.vocabulary import GNMI_PROVIDER, GRPC_PORT

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabricc.back.nos.cli_dialect.document import Put

    Guard = Callable[[str, str, int], bool]


def depth(raw: str) -> int:
    """How many modes deep a line is, at three columns a mode (four in the buffer profile count as one)."""
    return (len(raw) - len(raw.lstrip())) // 3


def nested(raw: str) -> bool:
    """Whether a line is more than one mode deep; `depth` in a third of the time, for what is asked of every line."""
    return raw[:6].isspace()


class PrefixListBlock:
    """A prefix list; facts number its rules by position, so sequence numbers matter by their order only."""

    __slots__ = ("count", "last", "name", "put")

    def __init__(self, name: str, put: Put) -> None:
        self.name = name
        self.put = put
        self.count = 0
        self.last = -1

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`seq N permit PREFIX [eq N | ge N] [le N]`, ascending as devices print them."""
        if len(words) < 4 or words[0] != "seq" or words[2] != "permit" or not words[1].isdecimal():
            return False
        lengths = prefix_lengths(words[4:])
        if lengths is None or int(words[1]) <= self.last:
            return False
        self.last = int(words[1])
        self.put(f"prefix_list[{self.name}]/{self.count}", " ".join([words[3], *lengths]), number)
        self.count += 1
        return True


class HttpApiBlock:
    """`management api http-commands`: which VRF it answers in, and whom."""

    __slots__ = ("guard", "put", "vrf")

    def __init__(self, put: Put, guard: Guard) -> None:
        self.put = put
        self.guard = guard
        self.vrf = ""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """HTTPS is the default protocol; the API is on in a VRF that says `no shutdown`."""
        if depth(raw) == 1:
            if words[0] == "vrf" and len(words) == 2:
                self.vrf = words[1]
                return True
            return words in (["protocol", "https"], ["no", "shutdown"])
        if self.vrf and words == ["no", "shutdown"]:
            self.put("platform/http_api", self.vrf, number)
            return True
        return words[:-1] == ["ip", "access-group"] and self.guard("http", words[-1], number)


class GnmiBlock:
    """`management api gnmi`: VRF and port of its one gRPC transport, and whom it answers."""

    __slots__ = ("guard", "port", "port_line", "put", "transport")

    def __init__(self, put: Put, guard: Guard) -> None:
        self.put = put
        self.guard = guard
        self.port, self.port_line = GRPC_PORT, 0
        self.transport = False

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """The transport's name has no meaning beyond the device; port 6030 is the default."""
        if depth(raw) == 1:
            self.transport = words[:2] == ["transport", "grpc"]
            if words == ["provider", GNMI_PROVIDER]:
                self.put("management/gnmi_provider", GNMI_PROVIDER, number)
                return True
            return self.transport
        if not self.transport:
            return False
        if words[:2] == ["ssl", "profile"] and len(words) == 3:
            self.put("management/gnmi_ssl_profile", words[2], number)
        elif len(words) == 2 and words[0] == "port" and words[1].isdecimal():
            self.port, self.port_line = int(words[1]), number
        elif len(words) == 2 and words[0] == "vrf":
            self.put("management/gnmi", words[1], number)
            self.put("management/gnmi_port", self.port, self.port_line or number)
        elif words[:-1] == ["ip", "access-group"]:
            return self.guard("gnmi", words[-1], number)
        else:
            return False
        return True


class SecurityBlock:
    """`management security`: the certificate and the key of each TLS profile, by their names in the device's store."""

    __slots__ = ("profile", "put")

    def __init__(self, put: Put) -> None:
        self.put = put
        self.profile = ""

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """`ssl profile P`, in it `certificate C key K`."""
        if depth(raw) == 1:
            self.profile = words[2] if words[:2] == ["ssl", "profile"] and len(words) == 3 else ""
        elif self.profile and words[::2] == ["certificate", "key"] and len(words) == 4:
            self.put(f"management/gnmi_certificate[{self.profile}]", f"{words[1]} {words[3]}", number)
        else:
            return False
        return bool(self.profile)
