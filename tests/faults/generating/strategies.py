"""What is sent: requests that are almost right, requests that are nothing, and all between.

``~c3~`` in a target or a body stands for the third conversation in the store, ``~t3~`` for its
turn, ``~p3~`` for what it waits for and ``~m3~`` for what is remembered of it, ``~key~`` and
``~session~`` in a header for those that open; :func:`filled` puts them in.
"""

import json
import string
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode

from tests.faults.generating.application import Known, Sent
from turnwire.agents.studio.factory import shipped

MEGABYTE: Final = 1_000_000
_SCENES: Final = 13

_nasty = st.sampled_from(
    ["", "\0", "\ud800", "\ufeff", "💥" * 50, "../../etc/passwd", "%00%0d%0a", "{0}%s${x}", "é",
     "x" * 100_001, "conv_1", "1", "*", "a:b", "null", "\u2028", "hello", "review", "confirm",
     "sign-in", "ask"]
)  # fmt: skip
_scenes = st.integers(0, _SCENES - 1)
_ids = st.builds("~{}{}~".format, st.sampled_from("ctp"), _scenes)
_texts = st.one_of(_ids, _nasty, st.text(max_size=40))
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**30), 1e308]),
    st.floats(),
    _texts,
)
_json = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
_messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "system", 1]), "content": _texts}
    ),
    max_size=4,
)
_SPEC: Final = shipped()["support-triage"]
_FIELDS: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "spec": st.sampled_from([_SPEC, _SPEC, _SPEC.replace("executor", "nobody"), "slug: [", ""]),
    "version": st.sampled_from(["1", "2", "999", "", "../x"]),
    "message": _texts,
    "messages": _messages,
    "conversation_id": _texts,
    "thread_id": _texts,
    "confirmation_id": _texts,
    "review_id": _texts,
    "decision": st.sampled_from(["approve", "edit", "reject", "", None, 1, [], {}]),
    "edited_text": _texts,
    "feedback": _texts,
    "answers": st.dictionaries(_texts, _json, max_size=3),
    "agent": st.sampled_from(["echo", "nobody", "", None, 7]),
    "model": _texts,
    "locale": st.sampled_from(["en", "es-MX", "../x", "", None, 3, "e" * 50]),
    "if_busy": st.sampled_from(["reject", "enqueue", "interrupt", "x", None]),
    "client": st.dictionaries(st.sampled_from(["locale", "timezone", "rerank", "x"]), _json),
    "channel": st.sampled_from(["app", "text", "", None, 4]),
    "mobile": st.sampled_from(["+44 7700 900123", "+447700900999"]) | st.just("12") | _texts,
    "code": st.sampled_from(["123456", "000000", "\uff11" * 6, "12345"]) | _texts,
}
_NAMED: Final = {
    "conversation_id": "c",
    "thread_id": "c",
    "confirmation_id": "p",
    "review_id": "p",
}
_SHAPES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "/chat": (("messages",), ("messages", "thread_id"), ("messages", "agent", "if_busy")),
    "/chat/stream": (("message",), ("message", "conversation_id"), ("message", "client")),
    "/chat/confirm": (("conversation_id", "confirmation_id", "decision"),),
    "/chat/resume": (
        ("conversation_id",),
        ("thread_id", "decision"),
        ("thread_id", "decision", "edited_text"),
        ("thread_id", "answers"),
    ),
    "/auth/login": (("mobile",),),
    "/auth/verify": (("mobile", "code"),),
    "/studio/agents/{}": (("spec",), ("spec",), ("version",)),
}
_RESUMES: Final[Mapping[int, tuple[str, ...]]] = {
    3: ("conversation_id",),
    4: ("thread_id", "answers"),
    8: ("conversation_id",),
    9: ("thread_id", "answers"),
    11: ("thread_id", "decision"),
    12: ("thread_id", "answers"),
}
"""What the owner of a scene sends to go on with it; see :meth:`Application.seed`."""
_SOME: Final = tuple(shape for shapes in _SHAPES.values() for shape in shapes)


@st.composite
def _bodies(draw: st.DrawFn, path: str, scene: int) -> bytes:
    right = _RESUMES.get(scene) if path == "/chat/resume" and draw(st.booleans()) else None
    names = list(right or draw(st.sampled_from(_SHAPES.get(path, _SOME))))
    body: dict[str, Any] = {name: draw(_FIELDS[name]) for name in names}
    for name, kind in _NAMED.items():
        if name in body and draw(st.integers(0, 4)):
            body[name] = f"~{kind}{scene}~"
    if "answers" in body and draw(st.booleans()):
        body["answers"] = {f"~p{scene}~": draw(_json)}
    if draw(st.integers(0, 4)) == 0:
        more = draw(st.sampled_from(sorted(_FIELDS)))
        body[more] = draw(_FIELDS[more])
    if draw(st.integers(0, 9)) == 0:
        body[draw(st.sampled_from([*names, "extra"]))] = draw(_json)
    # Python writes NaN and lone surrogates too: neither is JSON, and both are sent.
    return json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


_LARGE: Final = {"megabyte": b"x" * MEGABYTE, "key": b"Bearer tw_test_" + b"x" * MEGABYTE}
_DEEP: Final = {
    "lists": b"[" * 50_000,
    "objects": b'{"a":' * 20_000,
    "closed": b'{"messages": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
    "too large": b"x" * 1_048_577,
}


def _named(values: Mapping[str, bytes]) -> st.SearchStrategy[bytes]:
    # By name, because Hypothesis writes out what it samples from.
    return st.sampled_from(sorted(values)).map(lambda name: values[name])


_nothing = st.one_of(
    st.binary(max_size=60),
    _json.map(lambda each: json.dumps(each).encode("utf-8", "surrogatepass")),
    _named(_DEEP),
    st.sampled_from([b"1" * 5_000, b"\xef\xbb\xbf{}", b"-0", b'"\\ud800"',
                     b'{"message": "hi", "message": "ho"}']),
)  # fmt: skip


@st.composite
def _chunks(draw: st.DrawFn, path: str, scene: int) -> tuple[bytes, ...]:
    kind = draw(st.integers(0, 9))
    body = draw(_nothing) if kind == 0 else draw(_bodies(path, scene))
    at = draw(st.integers(0, min(len(body), 60)))
    if kind == 1:
        return (body[:at],)
    if kind == 2:
        return (body[:at] + draw(st.binary(min_size=1, max_size=3)) + body[at:],)
    return (body[:at], body[at:]) if 0 < at < len(body) else (body,)


Headers = tuple[tuple[bytes, bytes], ...]


def _together(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    return tuple(headers)


def _with_bearer(bearer: bytes, more: Sequence[tuple[bytes, bytes]]) -> Headers:
    return ((b"Authorization", bearer), *more)


_KEY: Final = (b"Authorization", b"Bearer ~key~")
_values = st.one_of(
    st.text(alphabet=[chr(n) for n in (9, *range(32, 127), *range(128, 256))], max_size=60).map(
        lambda text: text.encode("latin-1")
    ),
    st.sampled_from([b"", "ключ".encode(), b"\xff\xfe", b"bytes=5-1", b"bytes=x"]),
    _named(_LARGE),
)
_bearers = st.one_of(
    *([st.just(b"Bearer ~key~")] * 4),
    st.sampled_from(
        [b"Bearer ~chat~", b"Bearer ~review~", b"Bearer ~session~", b"Bearer ~live~", b"Bearer ",
         b"bearer ~key~", b"Basic ~key~", b"Bearer ~key~ ", b"Bearer ~slow~"]
    ),
    _values,
)  # fmt: skip
_NAMES: Final = [
    b"Accept", b"Accept-Encoding", b"Accept-Language", b"Authorization", b"Connection",
    b"Content-Encoding", b"Content-Length", b"Content-Type", b"Cookie", b"Expect", b"Forwarded",
    b"Host", b"Idempotency-Key", b"If-Modified-Since", b"If-None-Match", b"If-Range",
    b"Last-Event-ID", b"Origin", b"Range", b"Traceparent", b"Transfer-Encoding", b"Upgrade",
    b"X-Forwarded-For", b"X-Forwarded-Proto", b"X-HTTP-Method-Override", b"X-Request-ID",
    b"X-Turnwire-Session",
]  # fmt: skip
_names = st.one_of(
    st.sampled_from(_NAMES),
    st.text(alphabet=string.ascii_letters + "-_.", min_size=1, max_size=20).map(str.encode),
)
_useful = st.sampled_from(
    [
        (b"X-Turnwire-Session", b"~session~"),
        (b"X-Turnwire-Session", b"~other~"),
        (b"Idempotency-Key", b"again"),
        (b"Accept", b"text/event-stream"),
        (b"Last-Event-ID", b"~t1~.1"),
        (b"Content-Length", b"9" * 30),
    ]
)
_any_headers: st.SearchStrategy[Headers] = st.one_of(
    st.builds(_with_bearer, _bearers, st.lists(_useful | st.tuples(_names, _values), max_size=4)),
    st.lists(st.tuples(_names, _values), max_size=4).map(_together),
)


@st.composite
def _headers(draw: st.DrawFn, scene: int) -> Headers:
    """Those of the scene's owner mostly, and some more."""
    if draw(st.integers(0, 2)) == 0:
        return draw(_any_headers)
    session = (b"~session~", b"~other~", None)[scene // 5]
    owner = () if session is None else ((b"X-Turnwire-Session", session),)
    more = draw(st.lists(_useful | st.tuples(_names, _values), max_size=2))
    return (_KEY, *owner, *more)


_segments = st.one_of(_ids, _ids, _texts.map(lambda text: text[:300]))
ROUTES: Final = [
    ("POST", "/chat"), ("POST", "/chat/stream"), ("POST", "/chat/confirm"),
    ("POST", "/chat/resume"), ("POST", "/auth/session"), ("GET", "/usage"), ("GET", "/reviews"),
    ("POST", "/auth/login"), ("POST", "/auth/verify"), ("POST", "/auth/logout"),
    ("GET", "/auth/session"), ("DELETE", "/auth/session"), ("GET", "/conversations/{}/pauses"),
    ("GET", "/conversations"), ("GET", "/conversations/{}"), ("DELETE", "/conversations/{}"),
    ("POST", "/conversations/{}/cancel"), ("GET", "/conversations/{}/turns/{}"),
    ("GET", "/conversations/{}/turns/{}/events"), ("GET", "/agents"), ("GET", "/agents/{}"),
    ("GET", "/studio/agents/{}"), ("PUT", "/studio/agents/{}"),
    ("GET", "/schemas/{}.json"), ("GET", "/metrics"), ("GET", "/healthz"), ("GET", "/readyz"),
    ("GET", "/memory"), ("DELETE", "/memory"), ("DELETE", "/memory/{}"),
    ("GET", "/studio/ws-token"), ("GET", "/openapi.json"), ("GET", "/"), ("GET", "/open"),
    ("GET", "/app.css"),
]  # fmt: skip
_KINDS: Final = {"/memory/{}": "m"}
_SLUGS: Final = {
    "/agents/{}": "echo",
    "/studio/agents/{}": "support-triage",
    "/schemas/{}.json": "answer",
}
_FITTING: Final = {
    "/chat/confirm": (2, 7),
    "/chat/resume": tuple(_RESUMES),
    "/auth/login": range(10),
    "/auth/verify": range(10),
    "/memory/{}": (0, 5, 10),
}
"""Scenes that wait for what is sent there, or whose member may send it."""
SHARES: Final = {
    "/chat": 9,
    "/chat/stream": 4,
    "/chat/confirm": 7,
    "/chat/resume": 9,
    "/auth/login": 5,
    "/memory/{}": 3,
    "/studio/agents/{}": 3,
}
"""Routes where few requests are right, which get so many times as many."""


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="~")


@st.composite
def _queries(draw: st.DrawFn) -> str:
    name = st.sampled_from(["tokens", "wire", "after", "code", "x", ""])
    value = st.sampled_from(["true", "answer", "execution", "1", "-1", "9" * 40]) | _texts
    pairs = draw(st.lists(st.tuples(name, value.map(lambda text: text[:300])), max_size=3))
    return "?" + "&".join(f"{_quoted(key)}={_quoted(each)}" for key, each in pairs)


@st.composite
def malformed(draw: st.DrawFn, method: str, path: str) -> Sent:
    """A request of ours for a route of :data:`ROUTES`, right in most of its parts."""
    scene = draw(st.sampled_from(_FITTING.get(path, range(_SCENES))) | _scenes)
    has_body = method in ("POST", "PUT") or draw(st.integers(0, 9)) == 0
    body = draw(_chunks(path, scene)) if has_body else ()
    for kind in _KINDS.get(path, "ct")[: path.count("{}")]:
        right = _SLUGS.get(path, f"~{kind}{scene}~")
        segment = right if draw(st.integers(0, 3)) else _quoted(draw(_segments))
        path = path.replace("{}", segment, 1)
    odd = draw(st.integers(0, 19))
    if odd == 0:
        method = draw(st.sampled_from(["GET", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE", "X", ""]))
    elif odd == 1:
        path += _quoted(draw(_texts)[:300])
    elif odd < 6:
        path += draw(_queries())
    return Sent(method=method, target=path.encode(), headers=draw(_headers(scene)), body=body)


def described(document: Mapping[str, Any]) -> st.SearchStrategy[Sent]:
    """Requests of schemathesis's from an OpenAPI document: half fit it, half do not."""
    schema: Any = schemathesis.openapi.from_dict(dict(document))
    cases = st.one_of(
        schema.as_strategy(generation_mode=GenerationMode.POSITIVE),
        schema.as_strategy(generation_mode=GenerationMode.NEGATIVE),
    )
    return _described(cases)


@st.composite
def _described(draw: st.DrawFn, cases: st.SearchStrategy[Any]) -> Sent:
    case, scene = draw(cases), draw(_scenes)
    if draw(st.booleans()):  # a made-up id ends every request at its first question
        case.path_parameters = {
            name: f"~{_PLACED.get(name, 'p')}{scene}~" for name in case.path_parameters
        }
        if isinstance(case.body, dict):
            case.body |= {n: f"~{kind}{scene}~" for n, kind in _NAMED.items() if n in case.body}
    given = case.as_transport_kwargs(base_url="http://test")
    made = requests.Request(**{k: v for k, v in given.items() if k in _REQUEST}).prepare()
    body: Any = made.body or b""
    theirs: Mapping[str, str] = case.headers or {}
    return Sent(
        method=str(made.method),
        target=made.path_url.encode(),
        headers=(*draw(_headers(scene)), *((k.encode(), v.encode()) for k, v in theirs.items())),
        body=(body.encode() if isinstance(body, str) else body,),
    )


_PLACED: Final = {"conversation_id": "c", "turn_id": "t", "memory_id": "m"}
_REQUEST: Final = ("method", "url", "headers", "files", "data", "json", "params", "cookies")


def filled(sent: Sent, known: Known) -> Sent:
    """Return the request with what exists in the place of what stands for it."""
    words = {f"~{name}~".encode(): key.encode() for name, key in known.keys.items()}
    words |= {
        b"~key~": known.keys["all"].encode(),
        b"~live~": known.keys["all"].replace("_test_", "_live_").encode(),
        b"~session~": known.sessions[0].encode(),
        b"~other~": known.sessions[1].encode(),
    }
    for number, scene in enumerate(known.scenes):
        words |= {f"~{kind}{number}~".encode(): real.encode() for kind, real in scene.items()}

    def put(text: bytes) -> bytes:
        if b"~" in text:
            for word, real in words.items():
                text = text.replace(word, real)
        return text

    return Sent(
        method=sent.method,
        target=put(sent.target),
        headers=tuple((name, put(value)) for name, value in sent.headers),
        body=tuple(put(each) for each in sent.body),
    )
