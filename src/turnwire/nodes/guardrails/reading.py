"""Every way to read what a member wrote, for rules to look at."""

from collections.abc import Callable, Sequence

from turnwire.nodes.guardrails.hidden import forms
from turnwire.nodes.guardrails.normalise import Known, readings, unspaced
from turnwire.nodes.guardrails.phrases import Words, split


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
    shown = (form for text in texts for form in forms(text))
    canonical = (reading for form in shown for reading in readings(form, known=known))
    read_twice = (form for each in canonical for form in (each, unspaced(each, spelt)))
    meant = (form for each in read_twice for form in (each, mended(each)))
    return tuple(split(each) for each in dict.fromkeys(meant))
