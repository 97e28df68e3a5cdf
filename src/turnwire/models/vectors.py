"""Texts as vectors, each encoded once: the sentences of a library come up again and again."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]

MOST: Final = 8192
"""Texts that are remembered: 16 MB at 512 dimensions."""


class Encoder(Protocol):
    """Turns texts into vectors whose dot product says how near their meanings are."""

    def encode(self, texts: Sequence[str], /) -> Matrix:
        """Return float32 of shape ``(len(texts), dims)``, each row of length 1. Thread-safe."""
        ...


class Vectors:
    """An encoder that remembers the texts it was asked for last."""

    def __init__(self, encoder: Encoder, *, most: int = MOST) -> None:
        self._encoder = encoder
        self._most = most
        self._known: OrderedDict[str, Matrix] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], /) -> Matrix:
        """Return one row a text; ``texts`` holds one at least."""
        with self._lock:
            rows = {each: self._known[each] for each in texts if each in self._known}
        missing = [each for each in dict.fromkeys(texts) if each not in rows]
        if missing:
            rows |= dict(zip(missing, self._encoder.encode(missing), strict=True))
        with self._lock:
            for each in texts:
                self._known[each] = rows[each]
                self._known.move_to_end(each)
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return np.stack([rows[each] for each in texts])
