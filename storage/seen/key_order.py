"""Keys in the order in which the index of the table has them."""

from collections.abc import Sequence

from canonry.storage.seen.bloom import loads_numpy


def in_order(keys: Sequence[bytes]) -> list[bytes]:
    """Return keys of 16 bytes, sorted. NumPy takes a tenth of the time, where there are many."""
    if not loads_numpy(len(keys)):
        return sorted(keys)
    import numpy as np  # noqa: PLC0415 - it takes a tenth of a second to load

    halves = np.frombuffer(b"".join(keys), dtype=">u8").reshape(-1, 2)
    places = np.lexsort((halves[:, 1], halves[:, 0]))
    return list(map(keys.__getitem__, places.tolist()))
