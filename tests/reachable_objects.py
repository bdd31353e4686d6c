"""Finds everything that a system can reach from what it is given."""

from __future__ import annotations

import gc
from types import FunctionType, ModuleType


def find_reachable_objects(start: object) -> list[object]:
    """Returns every object that ``start`` leads to through references and attributes.

    Types, modules and functions are not followed: they lead to every object of the process.
    """
    objects_by_id: dict[int, object] = {id(start): start}
    queue = [start]
    while queue:
        current = queue.pop()
        names = [name for name in dir(current) if not name.startswith("__")]
        attribute_values = [getattr(current, name, None) for name in names]
        for target in [*gc.get_referents(current), *attribute_values]:
            if isinstance(target, type | ModuleType | FunctionType) or callable(target):
                continue
            if id(target) not in objects_by_id:
                objects_by_id[id(target)] = target
                queue.append(target)
    return list(objects_by_id.values())
