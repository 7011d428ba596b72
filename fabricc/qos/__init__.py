"""Lossless arithmetic: from priorities, links and catalog figures to the quality of service of every switch."""

from fabricc.qos.classes import traffic_classes
from fabricc.qos.ecn import base_rtt_ns
from fabricc.qos.finding import QosFinding
from fabricc.qos.marking import PRESETS, PROFILES, FixedMarking
from fabricc.qos.policy import switch_qos
from fabricc.qos.trimming import trimming, trimming_findings
from fabricc.qos.worksheet import Row, worksheet

__all__ = [
    "PRESETS",
    "PROFILES",
    "FixedMarking",
    "QosFinding",
    "Row",
    "base_rtt_ns",
    "switch_qos",
    "traffic_classes",
    "trimming",
    "trimming_findings",
    "worksheet",
]
