"""The questions of ``quoting_questions.yaml``, asked of the shipped health leaflets."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from langchain_core.messages import HumanMessage

from turnwire import corpora
from turnwire.models.quoting import Quoting
from turnwire.nodes.answer.prompt import build_prompt
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import ingest
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy
from turnwire.retrieval.splitter import sentences
from turnwire.retrieval.words import content_words

QUESTIONS = cast(
    "list[dict[str, Any]]",
    yaml.safe_load(Path(__file__).with_name("quoting_questions.yaml").read_text("utf-8")),
)


class Reader:
    def __init__(self, index: Index, encoder: EmbeddedEncoder) -> None:
        self._retriever = Retriever(index, encoder, RetrievalPolicy())
        self._model = Quoting(encoder=encoder, sentences=sentences, words=content_words)

    def answer(self, asked: dict[str, Any]) -> str:
        before = [asked["after"]] if "after" in asked else []
        query = "\n\n".join([*before, asked["question"]])
        evidence = self._retriever.search(query, locale=asked["locale"]).evidence
        prompt = build_prompt(
            persona="",
            question=asked["question"],
            evidence=evidence,
            locale=asked["locale"],
            fence=secrets.token_hex(12),
            history=[HumanMessage(each) for each in before],
        )
        return self._model.answer(prompt) if evidence else ""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    encoder = EmbeddedEncoder()
    with Index(tmp_path_factory.mktemp("leaflets") / "index.db") as index:
        root = Path(corpora.__file__).parent / "health"
        ingest(root, corpus="health", index=index, encoder=encoder)
        yield Reader(index, encoder)


def share_right(reader: Reader, half: str, *, answerable: bool) -> float:
    asked = [e for e in QUESTIONS if e["half"] == half and ("says" in e) == answerable]
    answers = [(each, reader.answer(each)) for each in asked]
    right = [
        any(part in text for part in each["says"]) if answerable else not text
        for each, text in answers
    ]
    return sum(right) / len(right)


@pytest.mark.parametrize(("half", "least"), [("tune", 0.9), ("held", 0.6)])
def test_questions_that_a_leaflet_answers_are_answered_with_the_sentence_that_does(
    reader: Reader, half: str, least: float
):
    assert share_right(reader, half, answerable=True) >= least


@pytest.mark.parametrize(("half", "least"), [("tune", 0.9), ("held", 0.85)])
def test_questions_that_no_leaflet_answers_are_not_answered(
    reader: Reader, half: str, least: float
):
    assert share_right(reader, half, answerable=False) >= least


def test_both_halves_have_questions_of_every_sort():
    for half in ("tune", "held"):
        mine = [each for each in QUESTIONS if each["half"] == half]
        assert len(mine) >= 30
        assert {each["locale"] for each in mine} == {"en", "es"}
        assert {"says" in each for each in mine} == {True, False}
