"""A configuration whose text is cut off is an error of every driver, and never a shorter configuration."""

from __future__ import annotations

import pytest

from fabricc.operate.drivers.answers import AnswerError
from fabricc.operate.drivers.single import require_braces, require_end, require_eos, require_nxos

EOS = "! Command: show running-config\n! device: a (DCS, EOS-4.32.1F)\n!\nhostname a\n!\nrouter bgp 65001\n!\nend\n"
JUNOS = (
    '## Last commit: now by a\nsystem {\n    host-name a; /* a { b */\n    login {\n        message "a } \\" {";\n'
    "    }\n}\nprotocols {\n    bgp;\n}\n"
)


def test_whole_texts_pass() -> None:
    require_eos({"running": EOS, "startup": "", "candidate": ""})
    require_eos({"running": "hostname a\n"})
    require_end("Current configuration:\n!\nfrr version 10.0\nend\n", "it")
    require_nxos("\n!Command: show running-config\nversion 10.4(3)\nline vty\n")
    require_nxos("")
    require_braces(JUNOS, "it")
    require_braces("", "it")


@pytest.mark.parametrize(
    "text", ["% Permission denied for the role\n", "ERROR: Loop detection is not enabled\n", "--More--"]
)
def test_another_text_is_no_configuration_of_nxos(text: str) -> None:
    with pytest.raises(AnswerError, match="the running configuration is none"):
        require_nxos(text)


@pytest.mark.parametrize("at", range(40, len(EOS) - 4))
def test_every_part_of_a_text_of_eos_is_recognized(at: int) -> None:
    with pytest.raises(AnswerError, match="the running configuration is cut off"):
        require_eos({"running": EOS[:at]})


def test_the_saved_text_of_eos_is_held_to_its_end_too() -> None:
    with pytest.raises(AnswerError, match="startup configuration is cut off"):
        require_eos({"running": EOS, "startup": "! Command: show startup-config\nhostname a\n"})


@pytest.mark.parametrize("at", [at for at in range(40, len(JUNOS) - 1) if JUNOS[:at].rstrip() != JUNOS[:at]
                                or JUNOS[at - 1] not in "};"])  # fmt: skip
def test_parts_of_a_text_of_junos_are_recognized(at: int) -> None:
    part = JUNOS[:at]
    whole = part.rstrip().endswith("}") and "protocols" not in part and part.count("    }") == 1
    if not whole:  # between two blocks of the outermost level nothing shows that one is missing
        with pytest.raises(AnswerError, match="it is cut off"):
            require_braces(part, "it")
