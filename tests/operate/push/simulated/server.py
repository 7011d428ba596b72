"""One process that is many switches: each keeps a candidate, a running configuration and a timer, over TCP.

`python server.py FOLDER FIRST_FILE_OF_EACH…` prints its port. A switch reverts an unconfirmed commit by itself. Its
neighbors are those of its running configuration; a session is up when the switch at the far end, known by the
address, has a neighbor back and neither is cut off.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import re
import resource
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NEIGHBOR = re.compile(r"(?m)^ +neighbor (\d+\.\d+\.\d+\.\d+) remote-as (\d+)$")
BGP = re.compile(r"(?m)^router bgp (\d+)$")
ADDRESS = re.compile(r"(?m)^ +ip address (\d+\.\d+\.\d+\.\d+)/31$")


@dataclass
class Switch:
    running: str
    candidate: str = ""
    backup: str = ""
    timer: Any = None
    maker: str = ""
    guard: Any = None
    guardian: str = ""
    update: str = ""
    guarded: str = ""
    cut: bool = False
    sick: bool = False
    mute: bool = False
    slow_s: float = 0.0
    storms: int = 0
    pauses: int = 0
    alarms: list[str] = field(default_factory=list)
    addresses: frozenset[str] = frozenset()
    asns: frozenset[str] = frozenset()
    neighbors: tuple[tuple[str, str], ...] = ()


@dataclass
class Room:
    password: str
    switches: dict[str, Switch] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    open: int = 0
    most: int = 0

    def own(self, name: str) -> None:
        """Read what the switch runs, once: a thousand of them share this process."""
        switch = self.switches[name]
        switch.addresses = frozenset(ADDRESS.findall(switch.running))
        switch.asns = frozenset(BGP.findall(switch.running))
        switch.neighbors = tuple(NEIGHBOR.findall(switch.running))
        self.owners.update(dict.fromkeys(switch.addresses, name))

    def up(self, name: str, remote: str, asn: str) -> bool:
        near, far = self.switches[name], self.switches.get(self.owners.get(remote, ""))
        if far is None or far.sick or near.sick or asn not in far.asns:
            return False
        return any(back in near.addresses for back, _ in far.neighbors)

    def act(self, request: dict[str, Any]) -> Any:
        name, act = request["device"], request["act"]
        switch = self.switches[name]
        if act == "login":
            if request["password"] != self.password:
                raise ValueError("login refused")
            if switch.cut:
                raise ValueError("no route to host")
            return True
        session = request.get("session", "somebody")
        if act in ("commit", "arm") and switch.guard and switch.guardian != session:
            raise ValueError(f"session {switch.guardian} has set a guard")
        if act in ("confirm", "rollback") and switch.timer and switch.maker != session:
            raise ValueError(f"session {switch.maker} made the commit that waits")
        if act == "load":
            if switch.timer:
                raise ValueError("a commit is pending")
            switch.candidate = request["text"]
        elif act == "compare":
            before, after = switch.running.splitlines(), switch.candidate.splitlines()
            if before == after:
                return ""
            return "\n".join(difflib.unified_diff(before, after, lineterm="", n=0))
        elif act == "commit":
            switch.maker = session
            self.commit(name, switch, request["revert_in"])
        elif act == "confirm":
            if not switch.timer:
                raise ValueError("no commit is pending")
            switch.timer.cancel()
            switch.timer = None
        elif act == "pending":
            return switch.timer is not None
        elif act == "discard":
            switch.candidate = ""
        elif act in ("rollback", "revert"):
            self.revert(name)
        elif act == "arm":
            switch.guarded, switch.guardian = switch.running, session
            self.watch(name, request["seconds"])
        elif act == "extend":
            own = switch.guard is not None and switch.guardian == session
            if own:
                self.watch(name, request["seconds"])
            return own
        elif act == "release":
            if switch.guardian == session:
                self.watch(name, None)
        elif act == "holds":
            timers = (("guard", switch.guardian, switch.guard), ("commit", switch.maker, switch.timer))
            now = asyncio.get_running_loop().time()
            updates = [["update", switch.update, None]] if switch.update else []
            return updates + [[claim, owner, timer.when() - now] for claim, owner, timer in timers if timer]
        elif act == "update":
            switch.update = request["by"]
        elif act == "end":
            stood = switch.guard is not None and switch.guardian == request["owner"]
            if stood:
                self.watch(name, None)
            return stood
        elif act == "guarded":
            return switch.guard is not None
        elif act == "expire":
            self.expire(name)
        elif act == "running":
            return switch.running
        elif act == "neighbors":
            return self.neighbors(name, switch)
        elif act == "counters":
            return {"swp1": {"rx_errors": 5000 if switch.sick else 0, "tx_errors": 0}}
        elif act == "lossless":
            return {"storms": {"swp1": {"3": switch.storms}}, "pfc_rx": {"swp1": {"3": switch.pauses}}}
        elif act == "alarms":
            return switch.alarms
        elif act == "mute":  # its policies are in effect a while after a commit
            asyncio.get_running_loop().call_later(0.2, setattr, switch, "mute", True)
        elif act == "storm":
            switch.storms += 1
        elif act == "pause":
            switch.pauses += 10_000_000
        elif act == "alarm":
            switch.alarms.append("fan 2 has failed")
        elif act == "drift":
            switch.running = switch.running.replace("maximum-prefix 16", "maximum-prefix 99")
        elif act == "scribble":
            switch.running = switch.running.replace("router bgp", "of no grammar\nrouter bgp", 1)
        elif act == "overtake":
            switch.running, switch.candidate = switch.candidate, ""
            self.own(name)
            raise ValueError("session theirs has committed the same configuration")
        elif act == "foreign":
            self.foreign(name, switch)
        elif act == "peak":
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            return {"connections": self.most, "memory_kib": memory}
        else:
            setattr(switch, *{"cut": ("cut", True), "mend": ("cut", False), "sick": ("sick", True)}[act])
        return True

    def commit(self, name: str, switch: Switch, revert_in: int | None) -> None:
        if not switch.candidate:
            raise ValueError("no candidate")
        switch.backup, switch.running, switch.candidate = switch.running, switch.candidate, ""
        self.own(name)
        if revert_in:
            switch.timer = asyncio.get_running_loop().call_later(revert_in, self.revert, name)

    def foreign(self, name: str, switch: Switch) -> None:
        """Somebody commits an edit of their own, and confirms it after a while."""
        edited = switch.running.replace("maximum-prefix 16", "maximum-prefix 99")
        switch.backup, switch.running, switch.maker = switch.running, edited, "somebody"
        loop = asyncio.get_running_loop()
        switch.timer = loop.call_later(60, self.revert, name)

        def confirm() -> None:
            switch.timer.cancel()
            switch.timer = None

        loop.call_later(2, confirm)

    def watch(self, name: str, seconds: int | None) -> None:
        """Start the timer of a guard anew, or end it."""
        switch = self.switches[name]
        if switch.guard:
            switch.guard.cancel()
        switch.guard = seconds and asyncio.get_running_loop().call_later(seconds, self.expire, name)

    def expire(self, name: str) -> None:
        """Revert the configuration when the time of a guard is over."""
        switch = self.switches[name]
        if switch.guard:
            switch.guard.cancel()
            switch.guard, switch.running, switch.backup = None, switch.guarded, ""
            self.own(name)

    def revert(self, name: str) -> None:
        switch = self.switches[name]
        if switch.timer:
            switch.timer.cancel()
        switch.timer, switch.running = None, switch.backup or switch.running
        switch.cut = switch.sick = switch.mute = False
        self.own(name)

    def neighbors(self, name: str, switch: Switch) -> dict[str, Any]:
        counts = {"received_prefixes": 4, "accepted_prefixes": 4, "sent_prefixes": 0 if switch.mute else 4}
        peers = {
            remote: {"is_up": self.up(name, remote, asn), "address_family": {"ipv4": counts}}
            for remote, asn in switch.neighbors
        }
        return {"global": {"router_id": "", "peers": peers}}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            while line := await reader.readline():
                try:
                    answer = {"answer": self.act(json.loads(line))}
                except ValueError as error:
                    answer = {"error": str(error)}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()


async def main(folder: Path, password: str) -> None:
    room = Room(password)
    for path in sorted(folder.iterdir()):
        room.switches[path.name] = Switch(path.read_text())
        room.own(path.name)
    server = await asyncio.start_server(room.serve, "127.0.0.1", 0, limit=1 << 26, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
