#!/usr/bin/env python3
"""One host's part in a round of the acceptance test; start it on all hosts of the fabric at about the same time.

    run.py ROUND [--host NAME] [--results FOLDER] [--print]

It starts a perftest server for every port that receives, then a client for every port that sends, reads the
host's counters before and after, and writes one JSON file. Hosts reach each other by name on the management network.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

sys.dont_write_bytecode = True  # nothing but its own files belongs in the tree
from pairs import host_of, load_plan, pairs, port_of  # noqa: E402

FIRST_TCP_PORT = 18500
SECONDS = 10
LATENCY_ITERATIONS = 20000
INCAST_SENDERS = 8
RETRY_SECONDS = 30
_PRIORITY = re.compile(r"[rt]x_prio(\d+_(bytes|frames|pause|discards)|_pause)")
_BY_PRIORITY = (
    (re.compile(r"([rt]x)_pfc_ena_frames_pri(\d)"), r"\1_prio\2_pause"),  # bnxt_en
    (re.compile(r"([rt]x)_priority_(\d)_xoff(?:\.nic)?"), r"\1_prio\2_pause"),  # ice
    (re.compile(r"frames_([rt]x)_pripause"), r"\1_prio_pause"),  # ionic, for all priorities together
    (re.compile(r"([rt]x)_bytes_pri(\d)"), r"\1_prio\2_bytes"),  # bnxt_en: those of the priority's queue
    (re.compile(r"frames_([rt]x)_pri_(\d)"), r"\1_prio\2_frames"),  # ionic, which has no bytes of priorities
)
"""Names of pauses and traffic of priorities by other drivers, as mlx5_core calls them."""
_SAME = {
    "rx_fcs_err_frames": "rx_crc_errors_phy",  # bnxt_en
    "rx_crc_errors.nic": "rx_crc_errors_phy",  # ice
    "frames_rx_bad_fcs": "rx_crc_errors_phy",  # ionic
    "oos_drop_count": "out_of_sequence",  # bnxt_re; its later releases have the names of mlx5_ib
    "seq_err_naks_rcvd": "packet_seq_err",
    "to_retransmits": "local_ack_timeout_err",
    "rnr_naks_rcvd": "rnr_nak_retry_err",
    "tx_cnp_pkts": "np_cnp_sent",
    "rx_cnp_pkts": "rp_cnp_handled",
    "rx_ecn_marked_pkts": "np_ecn_marked_roce_packets",
    "resp_rx_outouf_seq": "out_of_sequence",  # ionic_rdma, spelled so
    "req_rx_pkt_seq_err": "packet_seq_err",
    "tx_rdma_ack_timeout": "local_ack_timeout_err",
    "req_rx_rnr_retry_err": "rnr_nak_retry_err",
    "tx_rdma_cnp_pkts": "np_cnp_sent",
    "rx_rdma_cnp_pkts": "rp_cnp_handled",
    "rx_rdma_ecn_pkts": "np_ecn_marked_roce_packets",
    "cnpSent": "np_cnp_sent",  # irdma, which has no counter of lost RoCE packets
    "cnpHandled": "rp_cnp_handled",
    "RxECNMrkd": "np_ecn_marked_roce_packets",
}
"""Other names of counters of faults, losses and congestion, as mlx5 calls them."""
_ETHTOOL = {
    "rx_discards_phy",
    "tx_discards_phy",
    "rx_out_of_buffer",
    "rx_crc_errors_phy",
    "rx_symbol_err_phy",
}
_LOSSES = (
    "out_of_sequence",
    "packet_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "rx_icrc_encapsulated",
)
_CONGESTION = ("np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets")


def tcp_port(source, target, senders):
    """The TCP port on which the receiver of this pair waits: one for each of its ports, and of several senders."""
    return FIRST_TCP_PORT + target[2] * max(1, senders) + (source[1] % senders if senders else 0)


def gid_index(sysfs, device, prefixes):
    """Index of the device's RoCE v2 entry whose address is in one of the prefixes.

    Raises:
        LookupError: there is none: the port has no address yet, or not the planned one.
    """
    networks = [ipaddress.ip_network(prefix) for prefix in prefixes]
    port = Path(sysfs, "class/infiniband", device, "ports/1")
    folder = port / "gids"
    indices = sorted(int(entry.name) for entry in folder.iterdir()) if folder.is_dir() else []
    for index in indices:
        kind = port / "gid_attrs/types" / str(index)
        try:
            version, gid = kind.read_text().strip(), (folder / str(index)).read_text().strip()
        except OSError:
            continue
        address = ipaddress.IPv6Address(gid)
        plain = address.ipv4_mapped or address
        if version == "RoCE v2" and any(plain in network for network in networks):
            return index
    raise LookupError(f"{device} has no RoCE v2 address in {', '.join(prefixes)}")


def command(plan, entry, at, peer, port, gid, report):
    """Return the perftest call of one end; `peer` is None on the receiving end.

    perftest's own traffic class is 0, the lossy one: a test without --tclass does not test the lossless class.
    """
    traffic = plan["traffic"]
    latency = entry["kind"] == "latency"
    call = [
        "ib_write_lat" if latency else "ib_write_bw",
        "-d",
        port_of(plan, at)["rdma"],
        "-x",
        str(gid),
        "-F",
    ]
    call += [f"--tclass={traffic['tclass']}", "-p", str(port)]
    if ":" in traffic["prefixes"][0]:
        call.append("--ipv6")
    if latency:
        call += ["-s", "8", "-n", str(LATENCY_ITERATIONS)]
    else:
        call += ["--report_gbits", "-q", str(traffic["queue_pairs"]), "-s", str(traffic["message_bytes"])]
        call += ["-D", str(SECONDS)]
    if peer is not None:
        call += ["--out_json", "--out_json_file=" + report, peer]
    return call


def read_counters(sysfs, device, netdev):
    """Return the port's counters of loss, of congestion and of the class of its packets."""
    found = {}
    folder = Path(sysfs, "class/infiniband", device, "ports/1/hw_counters")
    for name in (*_SAME, *_LOSSES, *_CONGESTION):
        with suppress(OSError, ValueError):
            found[_SAME.get(name, name)] = int((folder / name).read_text())
    try:
        done = subprocess.run(["ethtool", "-S", netdev], capture_output=True, text=True, check=False)
    except OSError:
        return found
    for line in done.stdout.splitlines():
        name, colon, value = line.strip().partition(": ")
        for pattern, same in _BY_PRIORITY:
            name = pattern.sub(same, name) if pattern.fullmatch(name) else _SAME.get(name, name)
        if colon and value.isdigit() and (name in _ETHTOOL or _PRIORITY.fullmatch(name)):
            found[name] = int(value)
    return found


def one_result(plan, entry, source, target, report, status):
    """What came of one client: Gb/s or microseconds, None when it failed."""
    try:
        results = json.loads(Path(report).read_text())["results"]
    except (OSError, ValueError, KeyError):
        results = {}
    value = results.get("t_typical" if entry["kind"] == "latency" else "BW_average")
    return {
        "sender": [host_of(plan, source), port_of(plan, source)["name"]],
        "receiver": [host_of(plan, target), port_of(plan, target)["name"]],
        "value": value if status == 0 else None,
    }


def run_client(call):
    """Run a client, again and again while nobody listens yet; its exit status."""
    until = time.monotonic() + RETRY_SECONDS
    while True:
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        refused = "Couldn't connect" in done.stdout + done.stderr
        if not refused or time.monotonic() > until:
            if done.returncode:
                print(f"{' '.join(call)}\n{done.stdout}{done.stderr}", file=sys.stderr)
            return done.returncode
        time.sleep(1)


def calls_of(plan, entry, host, folder, gid_of):
    """The host's perftest calls in a round, servers and clients: [(pair, report, call)]."""
    senders = INCAST_SENDERS if entry["kind"] == "incast" else 0
    servers, clients = [], []
    for pair in pairs(plan, entry):
        port = tcp_port(*pair, senders)
        for at, calls, peer in ((pair[1], servers, None), (pair[0], clients, host_of(plan, pair[1]))):
            if host_of(plan, at) != host:
                continue
            report = str(folder / f"{len(clients)}.json")
            calls.append(
                (pair, report, command(plan, entry, at, peer, port, gid_of(port_of(plan, at)), report))
            )
    return servers, clients


def carry_out(plan, entry, host, sysfs):
    """Do the host's part in a round; its results and the rise of its counters."""
    prefixes = plan["traffic"]["prefixes"]
    with tempfile.TemporaryDirectory() as folder:
        servers, clients = calls_of(
            plan, entry, host, Path(folder), lambda port: gid_index(sysfs, port["rdma"], prefixes)
        )
        ports = [pair[1] for pair, _, _ in servers] + [pair[0] for pair, _, _ in clients]
        devices = {port_of(plan, at)["name"]: port_of(plan, at)["rdma"] for at in ports}
        before = {name: read_counters(sysfs, device, name) for name, device in devices.items()}
        statuses = run_calls([call for _, _, call in servers], [call for _, _, call in clients])
        results = [
            one_result(plan, entry, *pair, report, status)
            for (pair, report, _), status in zip(clients, statuses)  # noqa: B905 - RHEL 9 has Python 3.9
        ]
    counters = {}
    for name, device in devices.items():
        after = read_counters(sysfs, device, name)
        counters[name] = {key: rise(before[name].get(key, 0), value) for key, value in after.items()}
    return {"round": entry["round"], "host": host, "results": results, "counters": counters}


def rise(before, after):
    """How much a counter rose; from zero if its driver started anew."""
    return after - before if after >= before else after


def run_calls(servers, clients):
    """Start the servers, run the clients together, wait for the servers; the clients' exit statuses."""
    quiet = subprocess.DEVNULL
    waiting = [subprocess.Popen(call, stdout=quiet, stderr=quiet) for call in servers]
    try:
        with ThreadPoolExecutor(max_workers=max(1, len(clients))) as pool:
            statuses = list(pool.map(run_client, clients))
        until = time.monotonic() + RETRY_SECONDS + 2 * SECONDS
        for server in waiting:
            with suppress(subprocess.TimeoutExpired):
                server.wait(timeout=max(0.1, until - time.monotonic()))
        return statuses
    finally:
        for server in waiting:
            if server.poll() is None:
                server.kill()
                server.wait()


def main(arguments):
    """Carry out one round on this host."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("round", type=int)
    parser.add_argument("--host", default=socket.gethostname().partition(".")[0])
    parser.add_argument("--results", default="results")
    parser.add_argument("--sysfs", default="/sys")
    parser.add_argument("--print", action="store_true", help="print the calls and do nothing")
    options = parser.parse_args(arguments)
    plan = load_plan()
    entry = next((entry for entry in plan["rounds"] if entry["round"] == options.round), None)
    if entry is None or not any(options.host in unit["hosts"] for unit in plan["units"]):
        print(f"no round {options.round}, or no host {options.host}, in the plan", file=sys.stderr)
        return 2
    if options.print:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `run.py 3 --print | head` ends in silence
        for calls in calls_of(plan, entry, options.host, Path(), lambda _: "GID"):
            for _, _, call in calls:
                print(" ".join(call))
        return 0
    try:
        outcome = carry_out(plan, entry, options.host, options.sysfs)
    except (LookupError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    folder = Path(options.results)
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{options.round}-{options.host}.new"
    draft.write_text(json.dumps(outcome))
    draft.replace(folder / f"{options.round}-{options.host}.json")
    return 0 if all(result["value"] is not None for result in outcome["results"]) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
