"""List the topics of statements, rules and findings."""

from __future__ import annotations

INTERFACES, ADDRESSES, BGP, POLICY, PFC, ECN, BUFFERS, CLASSIFICATION, HOSTS, OTHER = TOPICS = (
    "interfaces", "addresses", "BGP", "policy", "PFC", "ECN", "buffers", "classification", "hosts", "other",
)  # fmt: skip
