"""Lossless arithmetic: from priorities, links and catalog figures to the quality of service of every switch."""

from fabricc.qos.classes import traffic_classes
from fabricc.qos.ecn import base_rtt_ns
from fabricc.qos.finding import QosFinding
from fabricc.qos.policy import switch_qos
from fabricc.qos.worksheet import worksheet

__all__ = ["QosFinding", "base_rtt_ns", "switch_qos", "traffic_classes", "worksheet"]
