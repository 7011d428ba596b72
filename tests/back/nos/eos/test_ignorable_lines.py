"""Statements of EOS about itself and its managers are distinguished from unknown lines."""

from fabricc.back.nos.eos import EOS, FILE

TEXT = """\
hostname tor1
snmp-server host 192.0.2.1 version 2c COMMUNITY
management telemetry
   server 192.0.2.2
      retries 3
frobnicate the fabric
   retries 3
"""


def test_system_lines_and_their_children_are_irrelevant() -> None:
    files = {FILE: TEXT}
    reading = EOS.read(files)
    assert EOS.ignorable(files, reading) == {(FILE, 2), (FILE, 3), (FILE, 4), (FILE, 5)}
    assert [line for _, line, _ in reading.unknown] == [2, 3, 4, 5, 6, 7]
