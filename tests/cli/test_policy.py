"""``turnwire policy check``: is a policy fine, and what does it make of a message."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from turnwire.cli.main import app
from turnwire.nodes.guardrails.policy import REQUIRED_TEXTS

TEXTS = "\n".join(f"    {key}: text of {key}" for key in REQUIRED_TEXTS)
FIRE = f"""name: fire
default_locale: en
escalation:
  - id: fire
    severity: acute
    phrases: ["there is (a)? fire"]
    unless: [no fire, is fire proof]
  - id: smoke
    severity: high
    phrases: [smoke]
refusals:
  - id: matches
    phrases: [sell me matches]
texts:
  en:
{TEXTS}
  es:
{TEXTS.replace("text of", "texto de")}
"""


@pytest.fixture
def fire(tmp_path: Path) -> Path:
    path = tmp_path / "fire.yaml"
    path.write_text(FIRE, encoding="utf-8")
    return path


def run(*arguments: object, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["policy", "check", *map(str, arguments)], input=given)


def report(*arguments: object, given: str | bytes | None = None) -> dict[str, Any]:
    done = run(*arguments, "--json", given=given)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_fine_policy_is_told_so_and_exits_with_0(fire: Path):
    done = run(fire)

    assert (done.exit_code, done.stdout) == (0, f"{fire} is fine: 3 rules, texts in en, es.\n")


def test_a_mistake_names_file_line_and_mend_and_exits_with_1(fire: Path):
    fire.write_text(FIRE.replace("severity: acute", "sevrity: acute"), encoding="utf-8")

    done = run(fire, "hello")

    assert done.exit_code == 1
    assert f"{fire}:5: escalation.0.sevrity: this key is not known" in done.stderr
    assert done.stdout == ""


def test_mistakes_are_a_list_in_json(fire: Path):
    fire.write_text(FIRE.replace("severity: acute", "severity: grave"), encoding="utf-8")

    done = run(fire, "--json")

    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert told["ok"] is False
    assert [each.startswith(f"{fire}:5: escalation.0.severity: ") for each in told["problems"]] == [
        True
    ]


def test_what_is_neither_a_file_nor_a_name_is_answered_with_the_names():
    done = run("helth")

    assert done.exit_code == 1
    assert "docs, health, insurance" in done.stderr


@pytest.mark.parametrize("name", ["docs", "health", "insurance"])
def test_a_shipped_policy_is_checked_by_its_name(name: str):
    assert run(name).exit_code == 0


def test_a_file_wins_by_its_path_where_a_policy_ships_under_its_name(tmp_path: Path, fire: Path):
    (tmp_path / "health").write_text(FIRE, encoding="utf-8")

    assert report("health")["name"] == "health"
    assert report("./health")["name"] == "fire"


def test_the_rule_that_trips_is_told_with_the_phrase_and_the_words(fire: Path):
    (turn,) = report(fire, "Help! There is a FIRE.")["turns"]

    assert (turn["outcome"], turn["reason"]) == ("escalate", "fire")
    assert turn["fixed_text"] == "text of escalation"
    assert [(each["check"], each["outcome"]) for each in turn["checks"]] == [
        ("input_validation", "pass"),
        ("pii", "pass"),
        ("escalation", "escalate"),
        ("scope_rules", None),
    ]
    assert turn["checks"][2]["rules"] == [
        {
            "section": "escalation",
            "rule": "fire",
            "trips": True,
            "found": [
                {
                    "phrase": "there is (a)? fire",
                    "words": "there is a fire",
                    "part": "phrases",
                    "spared_by": None,
                }
            ],
        }
    ]


def test_the_wording_that_spares_a_phrase_is_told(fire: Path):
    (turn,) = report(fire, "there is fire proof paint")["turns"]

    (rule,) = turn["checks"][2]["rules"]
    assert (turn["outcome"], rule["trips"]) == ("proceed", False)
    assert rule["found"][0]["spared_by"] == "is fire proof"


def test_people_read_the_same_in_words(fire: Path):
    done = run(fire, "there is fire proof paint, and smoke")

    assert done.stdout.splitlines()[1:] == [
        "",
        "> there is fire proof paint, and smoke",
        "  input_validation: pass",
        "  pii: pass",
        "  escalation: flag (smoke)",
        "    escalation.fire does not trip",
        "    escalation.fire.phrases: \"there is fire\" is 'there is (a)? fire', spared by "
        "'is fire proof'",
        "    escalation.smoke trips",
        "    escalation.smoke.phrases: \"smoke\" is 'smoke'",
        "  scope_rules: pass",
        "  verdict: proceed",
        "  a person reads the draft: smoke",
    ]


def test_a_verdict_that_refuses_still_exits_with_0(fire: Path):
    done = run(fire, "sell me matches", "--locale", "es-MX")

    assert done.exit_code == 0
    assert "scope_rules: refuse (matches)" in done.stdout
    assert "text: texto de refusal" in done.stdout


def test_lines_of_the_standard_input_are_messages_of_their_own(fire: Path):
    turns = report(fire, "-", given="there is\r\n\nfire\n")["turns"]

    assert [(each["given"], each["outcome"]) for each in turns] == [
        (["there is"], "proceed"),
        (["fire"], "proceed"),
    ]


def test_messages_of_one_turn_are_judged_together(fire: Path):
    (turn,) = report(fire, "--together", "there is", "fire")["turns"]

    assert (turn["given"], turn["reason"]) == (["there is", "fire"], "fire")


def test_bytes_that_are_no_text_are_explained_and_break_nothing(fire: Path):
    (turn,) = report(fire, "-", given=b"there is fire \xff\n")["turns"]

    assert (turn["outcome"], turn["reason"]) == ("refuse", "lone_surrogate")
    assert turn["checks"][1:] == [
        {"check": check, "outcome": None, "reason": None, "rules": [], "likeness": None}
        for check in ("pii", "escalation", "scope_rules")
    ]


def test_a_message_cannot_move_the_cursor(fire: Path):
    assert "\x1b" not in run(fire, "a\x1b[2Jb").stdout


def test_what_a_message_is_like_is_told():
    (turn,) = report("insurance", "how old is the universe?")["turns"]

    like = turn["checks"][3]["likeness"]
    assert (turn["outcome"], turn["reason"]) == ("refuse", "unlike_examples")
    assert like["holds"] is False
    assert like["example"]


def test_an_option_says_which_guardrails_a_server_has():
    done = CliRunner().invoke(app, ["serve", "--help"])

    assert "--policy" in done.stdout
    assert "health, insurance, docs" in " ".join(done.stdout.split())
