"""Names that lines of Junos and NX-OS use and that only their definitions explain: no row reads such a line."""

from __future__ import annotations

import re
from typing import NamedTuple


class Reference(NamedTuple):
    """A use of a name: the kind of what it stands for, and the name."""

    kind: str
    name: str


_COS = "class-of-service "
_FORMS = (
    ("classifier", re.compile(_COS + r"interfaces \S+ unit \S+ classifiers dscp (\S+)")),
    ("scheduler map", re.compile(_COS + r"interfaces \S+(?: unit \S+)? scheduler-map (\S+)")),
    ("profile of PFC", re.compile(_COS + r"interfaces \S+ congestion-notification-profile (\S+)")),
    ("forwarding class", re.compile(_COS + r"scheduler-maps \S+ forwarding-class (\S+) scheduler \S+")),
    ("scheduler", re.compile(_COS + r"scheduler-maps \S+ forwarding-class \S+ scheduler (\S+)")),
    ("drop profile", re.compile(_COS + r"schedulers \S+ drop-profile-map .*drop-profile (\S+)")),
    ("forwarding class", re.compile(_COS + r"classifiers dscp \S+ forwarding-class (\S+) .+")),
    ("group", re.compile(r"apply-groups (\S+)")),
    ("class map", re.compile(r"class (?!class-|copp-|c-)(\S+)")),
)
_BUILT_IN = re.compile(
    r"default|dscp-\S+|ieee8021p-\S+|junos\S*|re[01]|node\d+|member\d+|\S+-(?:effort|forwarding|control)"
)
"""Names that a system defines itself (Junos CLI reference, "Default CoS settings" and `apply-groups`)."""


def find_references(text: str) -> tuple[Reference, ...]:
    """Return the names that a line without a row uses, but those that the system defines."""
    found = ((kind, form.fullmatch(text)) for kind, form in _FORMS)
    return tuple(
        Reference(kind, match[1].strip("[]"))
        for kind, match in found
        if match and not _BUILT_IN.fullmatch(match[1])
    )
