"""What short messages are for, without a model; half of the examples were never tuned on."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.agents.member.stage import ENCODER, INSURANCE
from turnwire.agents.member.phrasings import shipped_phrasings
from turnwire.agents.member.routing import Router, Wish, parts
from turnwire.agents.member.tools import portal_client, portal_tools
from turnwire.nodes.guardrails.examples import Examples
from turnwire.nodes.guardrails.pre import examine
from turnwire.nodes.guardrails.scope import Scope

MESSAGES: dict[str, list[tuple[str, str]]] = yaml.safe_load(
    (Path(__file__).parent / "messages.yaml").read_text("utf-8")
)
ROUTER = Router(shipped_phrasings(), portal_tools(portal_client("http://portal.invalid")), ENCODER)
SCOPE = Scope(policy=INSURANCE, examples=Examples(INSURANCE.scope, ENCODER))


def goes_to(message: str, locale: str) -> str:
    """Return where the guardrails and the router send a message."""
    verdict = examine([message], policy=INSURANCE, locale=locale)
    wish = ROUTER.wish(message)
    if wish.tools:
        verdict = replace(verdict, is_known=True)
    verdict = asyncio.run(SCOPE.hold(verdict, message, locale=locale))
    if verdict.outcome == "escalate" or verdict.review_reasons:
        return "escalate"
    if verdict.outcome == "refuse":
        return "out_of_scope"
    documents = ["knowledge"] if wish.knowledge or not wish.tools else []
    return " + ".join([*documents, *(name for name, _ in wish.tools)])


@pytest.mark.parametrize("locale", ["en", "es"])
@pytest.mark.parametrize("half", [0, 1], ids=["tuned-on", "held-back"])
def test_nine_of_ten_short_messages_go_where_they_should(locale: str, half: int):
    assert len(MESSAGES[locale]) >= 60
    among = MESSAGES[locale][half::2]
    wrong = [each for each in among if goes_to(each[0], locale) != each[1]]
    accuracy = 1 - len(wrong) / len(among)
    print(f"{locale}, half {half}: {accuracy:.3f} of {len(among)}")
    assert accuracy >= 0.9


@pytest.mark.parametrize(
    ("message", "tool"),
    [
        ("Has anything come of CLM-2026-1090?", "get_claim_status"),
        ("Which plan am I on?", "get_plan_details"),
        ("¿Cuánto me queda del límite dental?", "get_covered_benefits"),
    ],
)
def test_a_question_about_the_members_own_file_is_for_a_read(message: str, tool: str):
    assert [name for name, _ in ROUTER.wish(message).tools] == [tool]


@pytest.mark.parametrize(
    "message",
    ["How do I change my address?", "Can I call you?", "¿Cómo puedo pedir que me llamen?"],
)
def test_how_an_action_works_is_a_question_and_no_wish_for_it(message: str):
    assert ROUTER.wish(message).tools == ()


def test_what_is_said_beside_an_action_is_no_question_of_its_own():
    wish = ROUTER.wish("Please call me back. My claim is stuck.")
    assert [name for name, _ in wish.tools] == ["request_callback"]
    assert wish.knowledge == ()


def test_a_message_is_cut_where_it_asks_for_another_thing_and_not_within_an_address():
    assert parts("Call me back and change my address to 9 Oak St, Hull, HU1 1AA, UK") == [
        "Call me back",
        "change my address to 9 Oak St, Hull, HU1 1AA, UK",
    ]


def test_mine_means_what_the_part_before_speaks_of():
    wish = ROUTER.wish("What does excess mean and what is mine?")
    assert wish.knowledge == ("What does excess mean",)
    assert wish.tools == (("get_plan_details", "what is mine?"),)


@pytest.mark.parametrize(
    ("message", "query"),
    [
        (
            "Is maternity covered on the Plus plan and on mine?",
            "Is maternity covered on the Plus plan?",
        ),
        (
            "¿La maternidad está cubierta en el plan Plus y en el mío?",
            "¿La maternidad está cubierta en el plan Plus?",
        ),
        ("Is dental better on Senior than on my plan?", "Is dental better on Senior?"),
    ],
)
def test_a_plan_by_its_name_is_for_documents_and_mine_for_the_file(message: str, query: str):
    wish = ROUTER.wish(message)
    assert [name for name, _ in wish.tools] == ["get_covered_benefits"]
    assert wish.knowledge == (query,)


def test_my_own_plan_by_its_name_is_for_the_file_alone():
    wish = ROUTER.wish("What is the excess of my Family plan?")
    assert [name for name, _ in wish.tools] == ["get_plan_details"]
    assert wish.knowledge == ()


@pytest.mark.parametrize(
    ("message", "tools"),
    [
        ("List all my claims and my documents", ["get_claims", "list_documents"]),
        ("Enséñame mis reclamaciones y mis documentos", ["get_claims", "list_documents"]),
        ("which plan am I on and how much do I pay a month?", ["get_plan_details"]),
        ("¿cuál es mi número de socia y cuándo se renueva?", ["get_plan_details"]),
        ("is my son covered", ["get_plan_details"]),
        ("¿está cubierto mi hijo?", ["get_plan_details"]),
        ("How is my claim going?", ["get_claim_status"]),
        ("estado de la reclamacion", ["get_claim_status"]),
        ("where do i find my policy wording", ["list_documents"]),
        ("My wife is pregnant - what do I get?", ["get_covered_benefits"]),
        ("os mandé una factura, ¿la habéis recibido?", ["get_claims"]),
        ("could someone explain my letter on the phone?", ["request_callback"]),
        ("can i cancel my plan", []),
        ("¿puedo cancelar mi plan?", []),
        ("¿cuánto tiempo tengo para enviar una factura?", []),
        ("Can my dentist bill you directly?", []),
    ],
)
def test_messages_as_members_write_them_are_for_these_tools(message: str, tools: list[str]):
    assert [name for name, _ in ROUTER.wish(message).tools] == tools


def test_what_stands_beside_an_action_goes_with_it():
    wish = ROUTER.wish("My claim is stuck. Call me back. I am at home today.")
    assert wish.tools == (
        ("request_callback", "My claim is stuck. Call me back. I am at home today."),
    )


def test_without_an_encoder_rules_still_find_actions_and_references():
    router = Router(shipped_phrasings(), portal_tools(portal_client("http://p.invalid")), None)
    assert router.wish("Call me back").tools == (("request_callback", "Call me back"),)
    assert router.wish("Any news of CLM-2026-1?").tools[0][0] == "get_claim_status"
    assert router.wish("Tell me something nice about my dog") == Wish(
        knowledge=("Tell me something nice about my dog",)
    )


@pytest.mark.parametrize("text", ["Never mind", "Olvídelo", "no gracias"])
def test_a_wish_can_be_taken_back(text: str):
    assert ROUTER.wish(text).takes_back


@pytest.mark.parametrize("text", ["no forget it, hello", "never mind"])
def test_only_a_short_message_takes_a_wish_back(text: str):
    assert ROUTER.wish(text).takes_back
    assert not ROUTER.wish(f"{text} and tell me all about the waiting periods").takes_back


def test_a_tool_without_phrasings_is_found_by_its_description():
    async def run(_: object, __: object) -> None: ...

    lens = replace(
        portal_tools(portal_client("http://p.invalid"))[0],
        name="order_lens",
        description="How many contact lenses are in my order?",
        run=run,
    )
    router = Router(shipped_phrasings(), [lens], ENCODER)
    assert router.wish("How many lenses are in my order?").tools[0][0] == "order_lens"
