import random

import pytest

from turnwire.nodes.answer.placeholders import Restorer

MAPPING = {"[PHONE_1]": "600 123 456", "[PHONE_12]": "911", "[EMAIL_1]": "a@b.es"}


def spoken(pieces: list[str], mapping: dict[str, str] = MAPPING) -> list[str]:
    restorer = Restorer(mapping)
    return [*(restorer.feed(each) for each in pieces), restorer.flush()]


def test_a_placeholder_is_put_back():
    assert "".join(spoken(["Call [PHONE_1] now."])) == "Call 600 123 456 now."


def test_a_placeholder_may_be_cut_anywhere():
    text = "[Call [PHONE_1] or [PHONE_12], not [PHONE_3]; write [EMAIL_1] [1] [PHO"
    whole = "[Call 600 123 456 or 911, not [PHONE_3]; write a@b.es [1] [PHO"
    assert "".join(spoken(list(text))) == whole
    for seed in range(50):
        cuts = sorted(random.Random(seed).sample(range(len(text)), 6))
        ends = [*cuts, len(text)]
        pieces = [text[a:b] for a, b in zip([0, *cuts], ends, strict=True)]
        assert "".join(spoken(pieces)) == whole


def test_only_what_may_become_a_placeholder_is_held_back():
    assert spoken(["A [1", "] b [PHO", "x"]) == ["A [1", "] b ", "[PHOx", ""]


@pytest.mark.parametrize("piece", ["[", "[" + "x" * 10_000, "[PHONE_1"])
def test_without_anything_private_nothing_is_held_back(piece: str):
    assert spoken([piece], {}) == [piece, ""]
