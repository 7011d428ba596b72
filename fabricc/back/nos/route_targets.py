"""State the route targets of a VRF or VLAN at the line of one that only one direction has, else at the last one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def put_targets(
    put: Callable[[str, str, int], object],
    prefix: str,
    imports: Mapping[str, int],
    exports: Mapping[str, int],
    vni: object = None,
) -> None:
    """State the route targets: one text where what is imported is what is exported.

    Args:
        put: states a fact.
        prefix: path of the VRF or VLAN.
        imports: route target -> its line.
        exports: the same of what is announced.
        vni: the VNI, with which usual targets end; another one of only one direction is the wrong one.
    """
    if not imports and not exports:
        return
    taken, sent = (",".join(sorted(each)) for each in (imports, exports))
    value = taken if taken == sent else f"import {taken} export {sent}"
    one_way = {
        target: line
        for own, other in ((exports, imports), (imports, exports))
        for target, line in own.items()
        if target not in other
    }
    foreign = [line for target, line in one_way.items() if target.rpartition(":")[2] != str(vni)]
    lines = foreign or list(one_way.values())
    put(prefix + "route_target", value, lines[-1] if lines else max((*imports.values(), *exports.values())))
