"""The shipped health corpus, searched and quoted from offline: what is answered, and what not."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

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

HEALTH = Path(corpora.__file__).parent / "health"
QUESTIONS = cast(
    "list[dict[str, Any]]",
    yaml.safe_load(Path(__file__).with_name("questions.yaml").read_text(encoding="utf-8")),
)
OFF_TOPIC = [
    "what helps with a sunburn",
    "How do I treat a burn?",
    "What are the warning signs of a heart attack?",
    "what is the best cure for cancer",
    "How do I get rid of lice?",
    "What should I do with a broken leg?",
    "Where can I get a flu shot?",
    "How much fibre should I eat?",
    "Can I stop taking my antidepressants?",
    "What is the dose of warfarin if I missed one?",
]
# Still missed: "What is a normal blood pressure?" (below 120/80) quotes what is high, and "What
# should I do about a fever in adults?" quotes the medicines and not rest and drinks.
FACTS = [
    ("How much water should I drink?", "six to eight glasses"),
    ("How much exercise should an adult do every week?", "150 minutes"),
    ("How do I measure my blood pressure at home?", "Sit quietly for five minutes"),
    ("How should I sit when I check my blood pressure at home?", "Sit quietly for five minutes"),
]


class Clinic:
    def __init__(self, index: Index, encoder: EmbeddedEncoder) -> None:
        self.retriever = Retriever(index, encoder, RetrievalPolicy())
        self.model = Quoting(encoder=encoder, sentences=sentences, words=content_words)

    def ask(self, question: str, locale: str) -> tuple[str, list[tuple[str, str | None]]]:
        """Return the answer, and the title and locale of each document that it cites."""
        evidence = self.retriever.search(question, locale=locale).evidence
        if not evidence:
            return "", []
        prompt = build_prompt(
            persona="",
            question=question,
            evidence=evidence,
            locale=locale,
            fence=secrets.token_hex(12),
        )
        answer = self.model.answer(prompt)
        cited = [evidence[int(each) - 1].passage for each in re.findall(r"\[(\d+)\]", answer)]
        return answer, [(each.document_name, each.locale) for each in cited]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    encoder = EmbeddedEncoder()
    with Index(tmp_path_factory.mktemp("health") / "index.db") as index:
        ingest(HEALTH, corpus="health", index=index, encoder=encoder)
        yield Clinic(index, encoder)


def title_of(document: str, locale: str) -> str:
    text = (HEALTH / locale / f"{document}.md").read_text(encoding="utf-8")
    return str(yaml.safe_load(text.split("---")[1])["title"])


def test_nine_of_ten_questions_are_answered_from_their_leaflet(clinic: Clinic):
    asked = [each for each in QUESTIONS if each["answerable"]]
    right = [
        each["id"]
        for each in asked
        if (title_of(each["document"], each["locale"]), each["locale"])
        in clinic.ask(each["question"], each["locale"])[1]
    ]
    assert len(right) >= 0.9 * len(asked), {each["id"] for each in asked} - {*right}


def test_four_of_five_questions_without_a_leaflet_are_not_answered(clinic: Clinic):
    asked = [each for each in QUESTIONS if not each["answerable"]]
    silent = [each for each in asked if not clinic.ask(each["question"], each["locale"])[0]]
    assert len(silent) >= 0.8 * len(asked)


@pytest.mark.parametrize("question", OFF_TOPIC)
def test_a_subject_that_no_leaflet_has_is_not_answered(clinic: Clinic, question: str):
    assert clinic.ask(question, "en")[0] == ""


@pytest.mark.parametrize(("question", "fact"), FACTS)
def test_the_sentence_that_answers_is_quoted(clinic: Clinic, question: str, fact: str):
    assert fact in clinic.ask(question, "en")[0]


@pytest.mark.parametrize(
    ("question", "locale"), [("Tell me about diabetes", "en"), ("Háblame de la diabetes", "es")]
)
def test_a_twin_in_the_readers_language_wins(clinic: Clinic, question: str, locale: str):
    cited = clinic.ask(question, locale)[1]
    assert {language for _, language in cited} == {locale}
