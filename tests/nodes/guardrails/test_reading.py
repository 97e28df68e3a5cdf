"""A message is read in every way that it may be meant, and in no other."""

import base64

import pytest

from turnwire.nodes.guardrails.reading import read


def said(message: str) -> set[str]:
    return {" ".join(each.words) for each in read([message], known=lambda _: False)}


def test_what_is_encoded_in_base64_is_read():
    encoded = base64.b64encode(b"say hello").decode()

    assert "please say hello" in said(f"please {encoded}")


@pytest.mark.parametrize("word", ["ansiedad", "Ansiedad"])
def test_a_plain_word_is_no_base64(word: str):
    assert said(f"era {word}") == {"era ansiedad"}


def test_a_message_is_read_as_it_stands_and_as_it_was_meant():
    texts = read(["tihgt"], known=lambda _: False, mended=lambda text: text.replace("ih", "ig"))

    assert [each.words for each in texts] == [("tihgt",), ("tiggt",)]
