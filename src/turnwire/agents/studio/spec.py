"""What a spec may say: one closed model a primitive, and limits for all of it.

The text of a spec is read by :mod:`turnwire.agents.studio.reading`, which names file and line of
whatever is wrong; what spans several nodes is judged by :mod:`turnwire.agents.studio.checking`.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from turnwire.models.roles import Role

START: Final = "start"
END: Final = "end"

Slug: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{1,62}$")]
NodeId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Word: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
"""A route, or the name of an operation."""
Locale: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$")]
Line: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Prose: TypeAlias = Annotated[str, StringConstraints(min_length=1, max_length=8000, pattern=r"\S")]
Texts: TypeAlias = Annotated[Mapping[Locale, Prose], Field(min_length=1, max_length=20)]
"""A text by language; a language that is missing gets the first one."""
Username: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._@:*-]{1,160}$")]


class Strict(BaseModel):
    """Frozen, and without fields that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Node(Strict):
    """What every node has."""

    id: NodeId

    def routes(self) -> tuple[str, ...]:
        """Return every route that the node may set; none: it sets none."""
        return ()


class GuardrailInput(Node):
    """Examines the new messages by the spec's policy, before anything else reads them."""

    type: Literal["guardrail_input"]

    def routes(self) -> tuple[str, ...]:
        """See :class:`Node`."""
        return ("proceed", "refuse", "escalate")


class GuardrailOutput(Node):
    """Notes what is odd about the answer."""

    type: Literal["guardrail_output"]


class Review(Node):
    """Shows the draft to a reviewer where the policy asks for that."""

    type: Literal["review"]
    expires_seconds: float = Field(default=7 * 24 * 3600, gt=0, le=90 * 24 * 3600)


class Destination(Strict):
    """What one route is for."""

    about: Line
    """For a model that routes."""
    examples: Annotated[Mapping[Locale, tuple[Line, ...]], Field(max_length=20)] = {}
    """For the router that needs no model: messages that take this route."""


class Router(Node):
    """Chooses a route for the message."""

    type: Literal["router"]
    role: Role = "router"
    sets_route: Literal[True] = True
    destinations: Annotated[Mapping[Word, Destination], Field(min_length=1, max_length=20)]
    default: Word
    """The route of a message that is like none of the examples, or where the model says none."""
    similarity: float = Field(default=0.5, ge=0, le=1)
    """How near to an example a message has to be (cosine)."""

    def routes(self) -> tuple[str, ...]:
        """See :class:`Node`."""
        return tuple(dict.fromkeys((*self.destinations, self.default)))


class RagRetriever(Node):
    """Searches documents for the message."""

    type: Literal["rag_retriever"]
    corpus: Word


class LlmAgent(Node):
    """Answers the user: from the evidence where there is any, and from what tools returned."""

    type: Literal["llm_agent"]
    role: Role = "answer"
    prompt: Texts
    grounded: bool = True
    """Whether it may only say what the evidence says."""
    offline: Texts | None = None
    """What is said without a provider of what tools returned, which `{results}` stands for."""


Short: TypeAlias = Annotated[str, StringConstraints(max_length=200)]
Filled: TypeAlias = (
    Short
    | int
    | bool
    | Annotated[tuple[Short, ...], Field(max_length=40)]
    | Annotated[Mapping[str, Short], Field(max_length=20)]
)
"""A value for a call; `{name}` alone in a text is what the form found."""


class Example(Strict):
    """A form of message from which the thinker that needs no model knows what to do."""

    say: Annotated[tuple[Line, ...], Field(min_length=1, max_length=40)]
    """Forms: `release (order|po) {order}`; a name in braces stands for one word of the user's."""
    operation: Word
    params: Annotated[Mapping[Word, Filled], Field(max_length=20)] = {}
    thought: Texts


class Thinker(Node):
    """Thinks in steps: proposes calls of the portal, and routes by the operation it wants."""

    type: Literal["thinker"]
    role: Role = "thinker"
    sets_route: Literal[True] = True
    prompt: Texts
    operations: Annotated[tuple[Word, ...], Field(min_length=1, max_length=20)]
    done: Word = "answer"
    """The route where nothing more is to be called."""
    offline: Annotated[tuple[Example, ...], Field(max_length=40)] = ()

    def routes(self) -> tuple[str, ...]:
        """See :class:`Node`."""
        return tuple(dict.fromkeys((*self.operations, self.done)))


class PortalTask(Node):
    """Carries out the call that the state holds, if it is one of these operations."""

    type: Literal["portal_task"]
    operations: Annotated[tuple[Word, ...], Field(min_length=1, max_length=20)]


class Memory(Node):
    """Recalls what the user and the agent said to each other in earlier conversations.

    An agent with such a node remembers each exchange when its turn is complete.
    """

    type: Literal["memory"]
    found: int = Field(default=4, ge=1, le=20)
    """Exchanges that are recalled at most."""
    budget: int = Field(default=2000, ge=500, le=8000)
    """Characters of what goes into the prompt."""


class Evaluator(Node):
    """Judges the draft: `pass` lets it stand, `retry` has it written anew."""

    type: Literal["evaluator"]
    role: Role = "judge"
    sets_route: Literal[True] = True
    criteria: Texts

    def routes(self) -> tuple[str, ...]:
        """See :class:`Node`."""
        return ("pass", "retry")


class Message(Node):
    """Says a fixed text, such as the explanation after a rejection."""

    type: Literal["message"]
    text: Texts
    finish_reason: Word = "stop"


class Stage(Strict):
    """One question of an interview."""

    id: Word
    ask: Texts


class Architect(Node):
    """Interviews in stages; at the end the state has a new agent's spec for a draft."""

    type: Literal["architect"]
    role: Role = "thinker"
    sets_route: Literal[True] = True
    stages: Annotated[tuple[Stage, ...], Field(min_length=1, max_length=15)]

    def routes(self) -> tuple[str, ...]:
        """See :class:`Node`."""
        return ("ask", "save")


AnyNode: TypeAlias = Annotated[
    GuardrailInput
    | GuardrailOutput
    | Review
    | Router
    | RagRetriever
    | LlmAgent
    | Thinker
    | PortalTask
    | Evaluator
    | Message
    | Memory
    | Architect,
    Field(discriminator="type"),
]
TYPES: Final[tuple[type[Node], ...]] = (
    GuardrailInput,
    GuardrailOutput,
    Review,
    Router,
    RagRetriever,
    LlmAgent,
    Thinker,
    PortalTask,
    Evaluator,
    Message,
    Memory,
    Architect,
)


class Edge(Strict):
    """A way that is always taken."""

    source: NodeId = Field(alias="from")
    target: NodeId = Field(alias="to")


class Gate(Strict):
    """An approval before a node."""

    on_reject: NodeId
    """The node that a rejection goes to."""
    expires_seconds: float = Field(default=24 * 3600, gt=0, le=90 * 24 * 3600)


class Limits(Strict):
    """What ends a loop; time is that of one run, so that people's waiting does not count."""

    iterations: int | None = Field(default=None, ge=1, le=100)
    """How often nodes of loops may work in a turn."""
    seconds: float | None = Field(default=None, gt=0, le=3600)
    usd: float | None = Field(default=None, gt=0)
    """US dollars of all model calls of a turn."""


class Access(Strict):
    """Who may use the agent, and which of its tools."""

    audience: Literal["staff", "everyone"] = "staff"
    """``staff`` needs the scope ``studio``."""
    users: Annotated[tuple[Username, ...], Field(max_length=1000)] = ()
    """None: all of the audience. `*` stands for any characters."""
    tools: Annotated[
        Mapping[Word, Annotated[tuple[Username, ...], Field(max_length=1000)]], Field(max_length=40)
    ] = {}
    """Who may use a tool; one that is not named here may be used by all."""


class Spec(Strict):
    """An agent."""

    slug: Slug
    title: Line
    description: Annotated[str, StringConstraints(max_length=1000)] = ""
    policy: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")] = "docs"
    """The shipped policy whose guardrails hold."""
    access: Access = Access()
    tools: Annotated[tuple[Word, ...], Field(max_length=40)] = ()
    nodes: Annotated[tuple[AnyNode, ...], Field(min_length=1, max_length=60)]
    edges: Annotated[tuple[Edge, ...], Field(min_length=1, max_length=200)]
    routes: Annotated[Mapping[NodeId, Mapping[Word, NodeId]], Field(max_length=60)] = {}
    """By node and route, the node that comes next; `end` ends the turn."""
    interrupt_before: Annotated[Mapping[NodeId, Gate], Field(max_length=20)] = {}
    limits: Limits = Limits()

    def node(self, name: str) -> AnyNode | None:
        """Return the node of that id, or none."""
        return next((each for each in self.nodes if each.id == name), None)
