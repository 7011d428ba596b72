"""Lossless arithmetic: from priorities, links and catalog figures to the quality of service of every switch."""

from fabricc.front.qos.classes import fit_vendor_classes, plan_trimming, traffic_classes, trimming_findings
from fabricc.front.qos.ecn import PRESETS, PROFILES, FixedMarking, base_rtt_ns
from fabricc.front.qos.fit import QosFinding
from fabricc.front.qos.lossless_policy import switch_qos
from fabricc.front.qos.worksheet import Row, build_worksheet

__all__ = [
    "PRESETS", "PROFILES", "FixedMarking", "QosFinding", "Row", "base_rtt_ns", "build_worksheet",
    "fit_vendor_classes", "plan_trimming", "switch_qos", "traffic_classes", "trimming_findings",
]  # fmt: skip
