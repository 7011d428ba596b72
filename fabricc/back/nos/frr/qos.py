"""Queues of a switch under plain FRR: left to the driver of its ASIC, as Linux has no words common to all of them."""

from fabricc.back.nos.base import LEFT_OUT, Departure

_LOSSLESS = "the driver sets PFC, headroom and watchdog (FAB5201)"
_QUEUES = "classification, scheduling and ECN have no setting common to Linux drivers (FAB5202)"
_ULTRA_ETHERNET = "iproute2 and ethtool have no option for it (FAB5209)"

DEPARTURES = (
    Departure("qos/*", LEFT_OUT, _QUEUES),
    Departure("interface[*]/trust", LEFT_OUT, _QUEUES),
    Departure("interface[*]/set_dscp", LEFT_OUT, _QUEUES),
    Departure("interface[*]/queue[*", LEFT_OUT, _QUEUES),
    Departure("pool/*", LEFT_OUT, _LOSSLESS),
    Departure("watchdog/*", LEFT_OUT, _LOSSLESS),
    Departure("interface[*]/pfc", LEFT_OUT, _LOSSLESS),
    Departure("interface[*]/watchdog", LEFT_OUT, _LOSSLESS),
    Departure("interface[*]/headroom/*", LEFT_OUT, _LOSSLESS),
    Departure("trimming/*", LEFT_OUT, _ULTRA_ETHERNET),
    Departure("link_retry", LEFT_OUT, _ULTRA_ETHERNET),
)
