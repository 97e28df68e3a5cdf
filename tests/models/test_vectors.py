from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from turnwire.models.vectors import Vectors


class Lengths:
    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str], /) -> npt.NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.array([[len(each)] for each in texts], dtype=np.float32)


def test_rows_come_in_the_order_of_the_texts_and_known_texts_are_not_encoded_again():
    lengths = Lengths()
    vectors = Vectors(lengths)
    vectors.encode(["a", "bb"])
    assert vectors.encode(["ccc", "bb", "a", "ccc"]).tolist() == [[3], [2], [1], [3]]
    assert lengths.asked == [["a", "bb"], ["ccc"]]


def test_the_text_that_was_asked_for_longest_ago_is_forgotten_first():
    lengths = Lengths()
    vectors = Vectors(lengths, most=2)
    for texts in (["a"], ["bb"], ["a"], ["ccc"], ["a"], ["bb"]):
        vectors.encode(texts)
    assert lengths.asked == [["a"], ["bb"], ["ccc"], ["bb"]]
