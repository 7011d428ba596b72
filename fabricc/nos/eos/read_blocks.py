"""The blocks of a running configuration that are about few lines, and how deep a line is in one."""

# ruff: noqa: ARG002 (blocks share one signature)

from __future__ import annotations

from typing import TYPE_CHECKING

from fabricc.nos.cli_dialect.read_policy import prefix_lengths
from fabricc.nos.eos.vocabulary import GRPC_PORT

if TYPE_CHECKING:
    from fabricc.nos.cli_dialect.document import Put


def depth(raw: str) -> int:
    """How many modes deep a line is, at three columns a mode (four in the buffer profile count as one)."""
    return (len(raw) - len(raw.lstrip())) // 3


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
    """`management api http-commands`: which VRF it answers in."""

    __slots__ = ("put", "vrf")

    def __init__(self, put: Put) -> None:
        self.put = put
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
        return False


class GnmiBlock:
    """`management api gnmi`: VRF and port of its one gRPC transport."""

    __slots__ = ("port", "put")

    def __init__(self, put: Put) -> None:
        self.put = put
        self.port = GRPC_PORT

    def line(self, words: list[str], raw: str, number: int) -> bool:
        """The transport's name has no meaning beyond the device; port 6030 is the default."""
        if depth(raw) == 1:
            return words[:2] == ["transport", "grpc"] or words == ["provider", "eos-native"]
        if len(words) == 2 and words[0] == "port" and words[1].isdecimal():
            self.port = int(words[1])
        elif len(words) == 2 and words[0] == "vrf":
            self.put("platform/gnmi", f"{words[1]} {self.port}", number)
        else:
            return False
        return True
