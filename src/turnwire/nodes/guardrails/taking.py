"""What a policy takes over from one that ships, instead of a copy that grows old.

takes:
  policy: health
  sections: [spelling, excuses, acute, injection]
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from turnwire.nodes.guardrails.rules import Identifier, Strict


class Takes(Strict):
    """Sections of another policy; ``acute`` are its acute escalation rules, before one's own."""

    policy: Identifier
    sections: tuple[Literal["spelling", "excuses", "acute", "injection"], ...]


class NotTaken(ValueError):
    """Something can't be taken over; ``path`` is the place in one's own policy that is at fault."""

    def __init__(self, path: Sequence[int | str], problem: str) -> None:
        super().__init__(problem)
        self.path = path


@dataclass(frozen=True, slots=True)
class Taken:
    """A policy with what it takes over, as YAML has it."""

    value: Mapping[str, Any]
    own: Sequence[int | None]
    """For each escalation rule its place among one's own, or none where it was taken as it is."""

    def at_home(self, path: Sequence[int | str]) -> Sequence[int | str]:
        """Return where something stands in one's own file, or the place that took it over."""
        match path:
            case ["escalation", int(place), *rest] if place < len(self.own):
                mine = self.own[place]
                return ("takes",) if mine is None else ("escalation", mine, *rest)
            case _:
                return path


def take(own: Mapping[str, Any], base: Mapping[str, Any], takes: Takes) -> Taken:
    """Return ``own`` with sections of ``base``.

    A rule of one's own that has the id of one that is taken over adds its ``unless`` to it.

    Raises:
        NotTaken: one's own policy has such a section itself, or changes a rule that it takes over.
    """
    value = {name: section for name, section in own.items() if name != "takes"}
    for name in takes.sections:
        if name != "acute":
            if name in value:
                problem = f"this section is taken from '{takes.policy}'; remove it here or there"
                raise NotTaken((name,), problem)
            if name in base:
                value[name] = base[name]
    mine = _rules(own)
    if "acute" not in takes.sections:
        return Taken(value, range(len(mine)))
    by_id = {each.get("id"): place for place, each in enumerate(mine)}
    acute = [each for each in _rules(base) if each["severity"] == "acute"]
    ids = {each["id"] for each in acute}
    rest = [place for place, each in enumerate(mine) if each.get("id") not in ids]
    value["escalation"] = [
        *(_more_fair(each, by_id.get(each["id"]), mine) for each in acute),
        *(mine[place] for place in rest),
    ]
    return Taken(value, [*(by_id.get(each["id"]) for each in acute), *rest])


def _more_fair(
    rule: Mapping[str, Any], place: int | None, mine: Sequence[Mapping[str, Any]]
) -> Mapping[str, Any]:
    if place is None:
        return rule
    if mine[place].keys() - {"id", "unless"}:
        problem = "this rule is taken over, which can only be given more `unless`"
        raise NotTaken(("escalation", place), problem)
    return {**rule, "unless": [*(mine[place].get("unless") or ()), *rule.get("unless", ())]}


def _rules(policy: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    rules: object = policy.get("escalation")
    entries = cast("Sequence[object]", rules) if isinstance(rules, list) else ()
    return [cast("Mapping[str, Any]", e) if isinstance(e, Mapping) else {} for e in entries]
