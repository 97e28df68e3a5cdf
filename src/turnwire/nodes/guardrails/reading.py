"""Every way to read what a member wrote, for rules to look at."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Final

from turnwire.nodes.guardrails.hidden import forms
from turnwire.nodes.guardrails.normalise import Known, readings, unspaced
from turnwire.nodes.guardrails.phrases import Words, split

_FORMS: Final = 8
_EDGE: Final = 160
"""Characters on each side of the seam between two turns; a phrase and its context need fewer."""


def read(
    messages: Sequence[str],
    *,
    known: Known,
    spelt: frozenset[str] = frozenset(),
    mended: Callable[[str], str] = str,
) -> tuple[Words, ...]:
    """Return the words of each message and of all together, plain and with what is hidden shown.

    All together twice, with and without a space between: a phrase may be split anywhere.
    Letters that stand apart are read a second time, as the words in ``spelt`` that they make,
    and all of it once more as ``mended`` reads misspelt words.
    """
    texts = list(messages)
    if len(messages) > 1:
        texts += [" ".join(messages), "".join(messages)]
    return tuple(split(each) for each in _meant(texts, known, spelt, mended))


def read_on(
    before: Sequence[str],
    messages: Sequence[str],
    *,
    known: Known,
    spelt: frozenset[str] = frozenset(),
    mended: Callable[[str], str] = str,
) -> tuple[Words, ...]:
    """Return the words around the seam between messages that were answered and the new ones.

    A find in them lies across the seam: what stands on one side of it is judged by itself.
    """
    if not before or not messages:
        return ()
    # White space and what else shows nothing is gone before the edge is measured.
    earlier = [each[-_EDGE:] for each in _few(" ".join(before), known, spelt, mended)]
    later = [each[:_EDGE] for each in _few(" ".join(messages), known, spelt, mended)]
    joined: dict[str, tuple[int, int]] = {}
    for old, new in product(earlier, later):
        behind, ahead = split(old).words, split(new).words
        if not behind or not ahead:
            continue
        last = len(behind) - 1
        # A new sentence: words may follow each other across it, and none may be passed over.
        joined.setdefault(f"{old} . {new}", (last, last + 1))
        if behind[-1] + ahead[0] in spelt:
            joined.setdefault(f"{old}{new}", (last, last))
    return tuple(split(text, seam=seam) for text, seam in joined.items())


def _few(
    text: str, known: Known, spelt: frozenset[str], mended: Callable[[str], str]
) -> Iterator[str]:
    return islice(_meant([text], known, spelt, mended), _FORMS)


def _meant(
    texts: Iterable[str], known: Known, spelt: frozenset[str], mended: Callable[[str], str]
) -> Iterable[str]:
    """Return every canonical text that ``texts`` may mean, each once."""
    shown = (form for text in texts for form in forms(text))
    canonical = (reading for form in shown for reading in readings(form, known=known))
    read_twice = (form for each in canonical for form in (each, unspaced(each, spelt)))
    return dict.fromkeys(form for each in read_twice for form in (each, mended(each)))
