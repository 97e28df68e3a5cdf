"""What the answer wire keeps of a turn: its words, and what they stand on."""

from turnwire.events import Passage, RetrievalCompleted, Search
from turnwire.ids import Seq
from turnwire.wires.answer_frames import Document, KnowledgeSearch, RetrievalCompletedFrame

ANSWER_REPLACED = ("answer_replaced", "The answer was replaced. Please read it again.", True)
"""Code, text and retryability of the error that ends a stream whose words were taken back."""


class Words:
    """What a client shows of the answer; the wire has no word for taking words back.

    ``replaced_at`` is the last replacement that is known beforehand: words older than it do not
    stand any more, and are not said at all.
    """

    def __init__(self, replaced_at: Seq) -> None:
        self._replaced_at = replaced_at
        self._shown: list[str] = []
        self.taken_back: Seq | None = None
        """The event by which words that the client shows were taken back, if they were."""

    def stand(self, seq: Seq) -> bool:
        """Whether what was said at ``seq`` stands, as far as is known."""
        return seq >= self._replaced_at

    def add(self, text: str) -> None:
        """Note words that the client shows."""
        self._shown.append(text)

    def replace(self, text: str, seq: Seq) -> str:
        """Return what to say so that the client shows ``text``; nothing where that can't be."""
        shown = "".join(self._shown)
        if not text.startswith(shown):
            self.taken_back = seq
            return ""
        self._shown = [text]
        return text[len(shown) :]

    def show(self, text: str) -> None:
        """Note that the client shows ``text`` and nothing else."""
        self._shown = [text]


class Evidence:
    """All of the turn's searches and what was selected from them."""

    def __init__(self) -> None:
        self.owed = False
        """Whether the client has not been told the latest."""
        self._queries: dict[str, None] = {}
        self._duration_ms = 0
        self._documents: dict[str, Passage] = {}
        self._searches: list[Search] = []

    def add(self, event: RetrievalCompleted) -> None:
        """Take a search, which is told before the next words."""
        self.owed = True
        self._queries[event.query] = None
        self._duration_ms += event.duration_ms
        self._documents |= {each.id: each for each in event.documents}
        self._searches += event.searches

    def has(self, passage_id: str) -> bool:
        """Whether a citation of the passage points at evidence of this turn."""
        return passage_id in self._documents

    def frame(self) -> RetrievalCompletedFrame:
        """Return the account, which is now told."""
        self.owed = False
        return RetrievalCompletedFrame(
            query=" | ".join(self._queries),
            duration_ms=self._duration_ms,
            documents=tuple(_document(each) for each in self._documents.values()),
            searches=tuple(_search(each) for each in self._searches),
        )


def _document(passage: Passage) -> Document:
    return Document.model_validate(passage.model_dump(include=set(Document.model_fields)))


def _search(search: Search) -> KnowledgeSearch:
    funnel = search.funnel if search.status == "ok" else None
    return KnowledgeSearch(
        tool_call_id=search.tool_call_id,
        query=search.query,
        status=search.status,
        duration_ms=search.duration_ms,
        funnel=funnel,
    )
