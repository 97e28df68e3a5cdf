"""A new agent's spec from what an interview brought."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

import yaml

from turnwire.agents.studio.checking import Known
from turnwire.language import folded

TASK: Final = """\
Write the YAML spec of an agent that meets the requirements. It has: slug, title, description, \
nodes (each with id and type), edges (from, to; the first from is start, the last to is end), \
routes (node, route, target), limits. Types: guardrail_input (routes proceed, refuse, escalate), \
router (destinations, default), rag_retriever (corpus), llm_agent (prompt by language), \
evaluator (criteria by language; routes pass, retry), message (text by language).
Reply with nothing but YAML."""
_FENCED: Final = re.compile(r"```(?:ya?ml)?\s*\n(.*?)```", re.DOTALL)
_LONGEST: Final = 2000


def yaml_in(reply: str) -> str:
    """Return the YAML of a reply, out of its fence if it has one."""
    found = _FENCED.search(reply)
    return (found[1] if found else reply).strip() + "\n"


def drafted(answers: Mapping[str, str], known: Known) -> str:
    """Return a guarded agent that answers from documents as the answers ask for.

    The stages `name`, `purpose`, `sources` and `tone` are looked at, where they were asked.
    """
    title = " ".join(answers.get("name", "New agent").split())[:100] or "New agent"
    purpose = answers.get("purpose", "")[:_LONGEST].strip()
    prompt = "\n".join(
        each for each in (f"You are {title}.", purpose, answers.get("tone", "").strip()) if each
    )
    corpora = sorted(known.corpora)
    wanted = folded(answers.get("sources", ""))
    corpus = next((each for each in corpora if each in wanted), corpora[0] if corpora else None)
    retrieve: list[dict[str, Any]] = (
        [{"id": "retrieve", "type": "rag_retriever", "corpus": corpus}] if corpus else []
    )
    first = "retrieve" if corpus else "reply"
    steps = [*(["retrieve"] if corpus else []), "reply", "checked", "end"]
    spec = {
        "slug": slug_of(title),
        "title": title,
        "description": purpose[:500],
        "access": {"audience": "staff"},
        "nodes": [
            {"id": "screen", "type": "guardrail_input"},
            *retrieve,
            {
                "id": "reply",
                "type": "llm_agent",
                "prompt": {"en": prompt[:4000]},
                "grounded": bool(corpus),
            },
            {"id": "checked", "type": "guardrail_output"},
        ],
        "edges": [
            {"from": "start", "to": "screen"},
            *({"from": a, "to": b} for a, b in pairwise(steps)),
        ],
        "routes": {"screen": {"proceed": first, "refuse": "end", "escalate": "end"}},
    }
    return yaml.safe_dump(spec, sort_keys=False, allow_unicode=True)


def slug_of(title: str) -> str:
    """Return a slug for a title: lower case, digits and hyphens."""
    words = re.findall(r"[a-z0-9]+", folded(title))
    slug = "-".join(words)[:60].strip("-")
    return slug if re.fullmatch(r"[a-z][a-z0-9-]+", slug) else f"agent-{slug}".strip("-")
