"""The policy wordings that ship: on pages, in two languages, and of one mind with the portal."""

import re
from collections.abc import Iterator

import pytest

from turnwire.corpora import for_members, shipped
from turnwire.nodes.guardrails.evidence import Screen
from turnwire.nodes.guardrails.pii_documents import document_screen
from turnwire.nodes.guardrails.policy import shipped_policy
from turnwire.portal.records import Benefit, Plan, seed
from turnwire.retrieval.documents import LoadedDocument
from turnwire.retrieval.encoder import EmbeddedEncoder
from turnwire.retrieval.index import Index
from turnwire.retrieval.ingest import IngestReport, ingest
from turnwire.retrieval.loaders import load
from turnwire.retrieval.search import Retriever
from turnwire.retrieval.selection import RetrievalPolicy

ROOT = for_members()["insurance"]
PLANS = {each.plan_id: each for each in seed().plans}
BENEFITS = [(plan, benefit) for plan in PLANS.values() for benefit in plan.benefits]
LOCALES = ["en", "es"]
HEADINGS = {
    "hospital": "Hospitalización",
    "day_care": "Hospital de día",
    "dental": "Tratamiento dental",
    "maternity": "Maternidad",
    "mental_health": "Salud mental",
    "physiotherapy": "Fisioterapia",
    "prescriptions": "Medicamentos con receta",
    "emergency_abroad": "Urgencias en el extranjero",
}
LIMITS = {"en": "Limits and excess", "es": "Límites y franquicia"}
ENDS = {"en": "Cancellation and renewal", "es": "Cancelación y renovación"}
AMOUNT = {"en": "£{}", "es": "{} £"}
UNIT = {
    "en": {"days": r"{} days", "sessions": r"{} (physiotherapy )?sessions"},
    "es": {"days": r"{} días", "sessions": r"{} sesiones"},
}
SHARE = {"en": "{}%", "es": "{} %"}
MONTHS = {"en": r"\b{} months?\b", "es": r"\b{} mes(es)?\b"}
NOT_COVERED = {"en": "not covered by the {} plan", "es": "no está cubiert[oa] por el plan {}"}
QUESTIONS = [
    ("How many physiotherapy sessions does the Family plan pay for?", "en", "family", 6),
    ("What is the dental limit on the Plus plan?", "en", "plus", 4),
    ("Is day care covered by the Essential plan?", "en", "essential", 3),
    ("How long is the waiting period for maternity on Family?", "en", "family", 5),
    ("How do I make a claim on the Senior plan?", "en", "senior", 7),
    ("¿Cuánto paga el plan Plus por una urgencia en el extranjero?", "es", "plus", 6),
    ("¿Está cubierta la maternidad en el plan Essential?", "es", "essential", 4),
    ("¿Cuántos días de hospital paga el plan Senior?", "es", "senior", 3),
    ("Is dental treatment covered by Essential?", "en", "essential", 4),
    ("¿Cubre el plan Senior el hospital de día?", "es", "senior", 4),
]


def wording(plan_id: str, locale: str) -> LoadedDocument:
    return load(ROOT / locale / f"{plan_id}.md")


def section(plan_id: str, locale: str, heading: str) -> str:
    """Return a section's text, numbers without what parts their thousands."""
    found = [each.text for each in wording(plan_id, locale).sections if each.heading == heading]
    return re.sub(r"(?<=\d)[.,](?=\d{3})", "", "\n".join(found))


def test_each_plan_of_the_portal_has_its_wording_in_both_languages():
    for locale in LOCALES:
        assert {each.stem for each in (ROOT / locale).iterdir()} == set(PLANS)
        for plan in PLANS.values():
            document = wording(plan.plan_id, locale)
            assert plan.name in document.title
            assert document.locale == locale


@pytest.mark.parametrize("plan_id", PLANS)
def test_a_wording_stands_on_pages_that_count_up_and_its_twin_on_the_same(plan_id: str):
    english, spanish = ([each.page for each in wording(plan_id, to).sections] for to in LOCALES)
    # The first section is the sentence that says that all of this is made up.
    assert english[0] is None
    pages = [page or 0 for page in english[1:]]
    assert pages == sorted(pages)
    assert set(pages) == set(range(1, max(pages) + 1))
    assert max(pages) >= 7
    assert spanish == english


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize(
    ("plan", "benefit"),
    BENEFITS,
    ids=[f"{plan.plan_id}-{benefit.benefit_id}" for plan, benefit in BENEFITS],
)
def test_a_benefit_has_the_same_limits_in_the_wording_and_in_the_portal(
    plan: Plan, benefit: Benefit, locale: str
):
    heading = benefit.name if locale == "en" else HEADINGS[benefit.benefit_id]
    text = section(plan.plan_id, locale, heading)
    assert text
    if not benefit.covered:
        assert re.search(NOT_COVERED[locale].format(plan.name), text)
        return
    if benefit.limit is not None:
        amount = AMOUNT[locale].format(benefit.limit)
        said = amount if benefit.unit == "GBP" else UNIT[locale][benefit.unit].format(benefit.limit)
        assert re.search(rf"(?<!\d){said}", text), said
    if benefit.copay_percent:
        assert SHARE[locale].format(benefit.copay_percent) in text
    else:
        assert "%" not in text
    if benefit.waiting_months:
        assert re.search(MONTHS[locale].format(benefit.waiting_months), text)
    else:
        assert not re.search(MONTHS[locale].format(r"\d+"), text)


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_plan_has_the_same_numbers_in_the_wording_and_in_the_portal(plan: Plan, locale: str):
    limits = section(plan.plan_id, locale, LIMITS[locale])
    assert AMOUNT[locale].format(plan.annual_limit) in limits
    if plan.excess:
        assert AMOUNT[locale].format(plan.excess) in limits
    else:
        assert {"en": "no excess", "es": "no hay franquicia"}[locale] in limits
    assert AMOUNT[locale].format(plan.monthly_premium) in section(
        plan.plan_id, locale, ENDS[locale]
    )


def test_the_wordings_have_no_agent_of_their_own():
    assert set(shipped()) == {"health", "turnwire"}
    assert set(for_members()) == {"insurance"}


@pytest.mark.parametrize("policy", ["health", "insurance", "docs"])
def test_no_wording_is_taken_for_an_attempt(policy: str):
    texts = [each.read_text("utf-8") for each in sorted(ROOT.rglob("*.md"))]
    assert len(texts) == 8
    assert Screen(shipped_policy(policy)).look(texts) is None


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Retriever, IngestReport]]:
    encoder = EmbeddedEncoder()
    policy = shipped_policy("insurance")
    screen = document_screen(policy.pii, policy.default_locale)
    with Index(tmp_path_factory.mktemp("insurance") / "index.db") as index:
        report = ingest(ROOT, corpus="insurance", index=index, encoder=encoder, screen=screen)
        yield Retriever(index, encoder, RetrievalPolicy()), report


def test_the_index_takes_all_of_the_wordings(indexed: tuple[Retriever, IngestReport]):
    report = indexed[1]
    assert (report.added, report.skipped, report.left_out) == (8, (), ())


@pytest.mark.parametrize(("question", "locale", "plan_id", "page"), QUESTIONS)
def test_the_page_that_answers_is_among_the_first_three_and_the_first_is_of_the_right_plan(
    indexed: tuple[Retriever, IngestReport], question: str, locale: str, plan_id: str, page: int
):
    found = [each.passage for each in indexed[0].search(question, locale=locale).evidence[:3]]
    places = [(each.document_name, each.locale, each.page) for each in found]
    assert (wording(plan_id, locale).title, locale, page) in places
    assert found[0].title.endswith(f"p.{found[0].page}")
    assert PLANS[plan_id].name in (found[0].document_name or "")
