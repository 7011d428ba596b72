"""The forms that answers of NAPALM's getters and of ours have; what has another one is not read."""

from __future__ import annotations

import math
from typing import Any

NUMBER = (int, float)
FORMS: dict[str, Any] = {
    "get_config": {"running": str},
    "get_lldp_neighbors_detail": {str: [{str: object}]},
    "get_bgp_neighbors": {"global": {"peers": {str: {str: object}}}},
    "get_ecmp_widths": {str: int},
    "get_interfaces": {str: {"speed": NUMBER, "mtu": NUMBER}},
    "get_interfaces_counters": {str: {"rx_errors": NUMBER, "tx_errors": NUMBER}},
    "get_lossless_counters": {str: {str: {str: int}}},
    "get_alarms": [str],
}
"""Getter -> form of its answer: a type, several, a list of a form, or a mapping; a mapping has the form of its one key
`str` for every key, or forms of some keys, which may be missing."""
_DEEP = 12


def misfit(method: str, answer: object) -> str:
    """Where an answer has another form than its getter's, such as `global/peers`; "" when it fits."""
    form = FORMS.get(method)
    if form is None:
        return ""
    if method == "get_config" and not (isinstance(answer, dict) and "running" in answer):
        return f"{method}/running"
    return _misfit(answer, form, method, 0)


def _misfit(value: object, form: Any, where: str, depth: int) -> str:
    if isinstance(form, list):
        members = list(enumerate(value)) if isinstance(value, (list, tuple)) else None
        forms = {index: form[0] for index, _ in members or ()}
    elif isinstance(form, dict):
        members = list(value.items()) if isinstance(value, dict) else None
        forms = {key: form[str] if str in form else form.get(key) for key, _ in members or ()}
        if members is not None and str in form and not all(isinstance(key, str) for key, _ in members):
            return where
    else:
        fits = form is object or (
            isinstance(value, form) and not (isinstance(value, float) and not math.isfinite(value))
        )
        return "" if fits else where
    if members is None or depth > _DEEP:
        return where
    for key, member in members:
        if forms[key] is not None and (wrong := _misfit(member, forms[key], f"{where}/{key}", depth + 1)):
            return wrong
    return ""
