"""Topics: what statements, rules and findings are about."""

from __future__ import annotations

INTERFACES, ADDRESSES, BGP, POLICY, PFC, ECN, BUFFERS, CLASSIFICATION, HOSTS, OTHER = TOPICS = (
    "interfaces", "addresses", "BGP", "policy", "PFC", "ECN", "buffers", "classification", "hosts", "other",
)  # fmt: skip
