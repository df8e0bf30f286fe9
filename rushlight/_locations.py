"""Where storages are and go: tags for devices, and a registry of who reads which tag."""

from __future__ import annotations

import rushlight as torch


def _restore_cpu(untyped, location: str):
    return untyped if location == "cpu" else None


def _restore_meta(untyped, location: str):
    if location == "meta":
        return torch.UntypedStorage(untyped.nbytes(), device="meta")
    return None


def _restore_accelerator(untyped, location: str) -> None:
    if location.startswith("cuda"):
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is "
            "False. If you are running on a CPU-only machine, please use torch.load with "
            "map_location=torch.device('cpu') to map your storages to the CPU."
        )
    if location.startswith("mps"):
        raise RuntimeError("torch.UntypedStorage(): Storage device not recognized: mps")


_registry: list[tuple] = [
    (10, lambda s: "cpu" if s.device.type == "cpu" else None, _restore_cpu),
    (20, lambda s: None, _restore_accelerator),
    (22, lambda s: "meta" if s.device.type == "meta" else None, _restore_meta),
]


def register_package(priority: int, tagger, deserializer) -> None:
    """Adds ``tagger(storage) -> tag or None`` and ``deserializer(storage, tag)`` for a device."""
    _registry.append((priority, tagger, deserializer))
    _registry.sort(key=lambda entry: entry[0])


def location_tag(storage) -> str:
    """The tag under which a storage's device is written."""
    for _, tagger, _ in _registry:
        if tag := tagger(storage):
            return tag
    raise RuntimeError(
        "don't know how to determine data location of torch.storage.UntypedStorage"
    )


def default_restore_location(storage, location: str):
    """The storage moved to where ``location`` says."""
    for _, _, restore in _registry:
        result = restore(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        + location
        + ")"
    )


def restorer(map_location):
    """A function (storage, location) -> storage for any kind of ``map_location``."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda s, at: default_restore_location(s, map_location.get(at, at))
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, torch.device)):
        target = str(map_location)
        return lambda s, at: default_restore_location(s, target)

    def restore(untyped, location):
        result = map_location(untyped, location)
        return default_restore_location(untyped, location) if result is None else result

    return restore


loading_to = None  # the map_location of the load that is running


def mapped_device(device):
    """Where a tensor that was stored without a storage belongs in the load that is running."""
    location = loading_to
    if isinstance(location, dict):
        return location.get(device, device)
    return device if location is None or callable(location) else location
