"""The readers of host files take any text: facts, or lines listed as unknown, and never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.back.hosts import netplan, read, render
from tests.back.hosts.variants import VARIANTS
from tests.wrecks import draw_damaged, draw_texts

FILES = {
    path: text for name in ("dual-port", "rhel-9", "thor2") for path, text in render(VARIANTS[name]).items()
}
WORDS = sorted({word for text in FILES.values() for word in text.split()[:40]})

NUMBERS = {
    "etc/nccl.conf": "NCCL_IB_TC={}\nNCCL_CROSS_NIC={}\n",
    "etc/sysctl.d/90-fabricc.conf": "a={}\n",
    "etc/systemd/network/rail0.link": "[Link]\nName=rail0\nMTUBytes={}\n",
    "etc/NetworkManager/system-connections/rail0.nmconnection": (
        "[connection]\ninterface-name=rail0\n[ethernet]\nmtu={}\n"
    ),
    "usr/local/sbin/fabricc-roce": (
        "CNP_DSCP='{0}'\nPRIORITY_TO_TC='{0},1'\nCONGESTION='\nkey={0}\n'\nDSCP_TO_PRIORITY='\n{0},{0}\n'\n"
        "rail0) rdma=a cable_m={0} port={0} ;;\n"
    ),
    "etc/netplan/60-fabricc.yaml": "network:\n  version: {}\n",
}  # fmt: skip


@pytest.mark.parametrize(
    "number", ["²", "٣", "9" * 5000, "\ud800"], ids=["superscript", "arabic", "endless", "half"]
)
@pytest.mark.parametrize("path", NUMBERS)
def test_readers_accept_digits_that_are_no_numbers(path: str, number: str) -> None:
    read({path: NUMBERS[path].format(number, number)})


@given(st.sampled_from(sorted(FILES)), draw_texts(WORDS))
def test_no_arbitrary_text_makes_a_reader_fail(path: str, text: str) -> None:
    read({path: text})


@given(
    st.sampled_from(sorted(FILES)).flatmap(lambda path: st.tuples(st.just(path), draw_damaged(FILES[path])))
)
def test_no_damage_makes_a_reader_fail(case: tuple[str, str]) -> None:
    path, text = case
    read({path: text})


def test_keys_that_are_no_words_do_not_multiply_without_bound() -> None:
    levels = "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}, *a{n - 1}, *a{n - 1}]\n" for n in range(1, 14))
    reading = read({netplan.FILE: "a0: &a0 {? [x] : y}\n" + levels})
    assert reading.facts == {}
    assert len(reading.unknown) < 200_000
