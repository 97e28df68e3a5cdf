import assert from "node:assert/strict";
import { test } from "node:test";
import { BACKOFF_MS, connect, follow, Lost, Refused } from "../../src/turnwire/web/wire.js";

const frame = (seq, event, data = {}) => `id: trn_1.${seq}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const streaming = (...frames) => new Response(frames.join(""), { headers: { "Content-Type": "text/event-stream" } });

/** Follow `responses` one after the other; what is no Response is thrown. */
async function followAll(...responses) {
  const told = { events: [], from: [], waits: [], retries: [] };
  const next = async () => {
    const response = responses.shift() ?? new TypeError("no network");
    if (response instanceof Response) return response;
    throw response;
  };
  const following = follow({
    open: next,
    reattach: (lastEventId) => (told.from.push(lastEventId), next()),
    onEvent: (type) => told.events.push(type),
    onRetry: (attempt) => told.retries.push(attempt),
    sleep: async (ms) => void told.waits.push(ms),
  });
  await following.catch((error) => (told.error = error));
  return told;
}

test("a stream with a terminator is followed once", async () => {
  const told = await followAll(streaming(frame(1, "graph_topology"), frame(2, "turn_completed"), frame(3, "token")));
  assert.deepEqual(told.events, ["graph_topology", "turn_completed"]);
  assert.deepEqual(told.retries, []);
});

test("a pause at the end is an end; one in the middle of a replay is not", async () => {
  assert.deepEqual((await followAll(streaming(frame(1, "paused")))).retries, []);
  const told = await followAll(
    streaming(frame(1, "paused"), frame(2, "graph_topology")),
    streaming(frame(3, "turn_completed")),
  );
  assert.deepEqual(told.from, ["trn_1.2"]);
});

test("a broken stream goes on after the last event, and nothing is told twice", async () => {
  const told = await followAll(
    streaming(frame(1, "graph_topology"), frame(2, "token")),
    streaming(frame(2, "token"), frame(3, "token"), frame(4, "turn_completed")),
  );
  assert.deepEqual(told.events, ["graph_topology", "token", "token", "turn_completed"]);
  assert.deepEqual(told.from, ["trn_1.2"]);
});

test("five attempts without an event, then it is lost", async () => {
  const told = await followAll(streaming(frame(1, "graph_topology")));
  assert.ok(told.error instanceof Lost);
  assert.deepEqual(told.retries, [1, 2, 3, 4, 5]);
  assert.deepEqual(told.waits, BACKOFF_MS);
});

test("an event makes the attempts count from one again", async () => {
  const told = await followAll(
    streaming(frame(1, "graph_topology")),
    new TypeError("no network"),
    streaming(frame(2, "token")),
    streaming(frame(3, "turn_completed")),
  );
  assert.deepEqual(told.retries, [1, 2, 1]);
});

test("a refusal of the first request is thrown at once", async () => {
  const told = await followAll(new Refused(401, { code: "session_required" }, null));
  assert.equal(told.error.code, "session_required");
  assert.deepEqual(told.retries, []);
});

test("a refusal while re-attaching is thrown, unless it will pass", async () => {
  const gone = await followAll(streaming(frame(1, "token")), new Refused(404, { code: "not_found" }, null));
  assert.equal(gone.error.code, "not_found");
  const draining = await followAll(
    streaming(frame(1, "token")),
    new Refused(503, { code: "draining", retryable: true }, 1),
    streaming(frame(2, "turn_completed")),
  );
  assert.equal(draining.error, undefined);
});

test("data that is no JSON counts as a broken stream", async () => {
  const told = await followAll(streaming("id: trn_1.1\ndata: {\n\n"), streaming(frame(1, "turn_completed")));
  assert.deepEqual(told.from, [""]);
  assert.deepEqual(told.events, ["turn_completed"]);
});

test("a refusal carries the envelope's facts, and any other body is survived", async () => {
  const answers = [
    Response.json(
      { error: { code: "quota_exceeded", message: "Enough.", retryable: true, request_id: "req_1" } },
      { status: 429, headers: { "Retry-After": "7" } },
    ),
    new Response("<h1>Bad gateway</h1>", { status: 502 }),
  ];
  const client = connect({ base: "http://host/sub/", kept: { recall: () => "ses_1" }, fetch: async () => answers.shift() });
  const quota = await client.agents().catch((error) => error);
  assert.deepEqual([quota.status, quota.code, quota.message, quota.retryAfter], [429, "quota_exceeded", "Enough.", 7]);
  assert.equal((await client.agents().catch((error) => error)).message, "HTTP 502");
});

test("paths stay below the page's own, and ids are escaped", async () => {
  const asked = [];
  const client = connect({ base: "http://host/sub/", kept: { recall: () => "ses_1" }, fetch: async (url) => (asked.push(String(url)), Response.json({})) });
  await client.conversation("a/../b");
  assert.deepEqual(asked, ["http://host/sub/conversations/a%2F..%2Fb"]);
});

/** A server with sessions: `answer(path, session)` says what it answers, and `told` what was called. */
function withSessions(answer, kept = "") {
  const told = { calls: [], kept };
  let minted = 0;
  const fetch = async (url, { headers }) => {
    const [path, session] = [url.pathname.slice(1), headers["X-Mine"] ?? null];
    told.calls.push([path, session]);
    return answer(path, session) ?? Response.json(path === "auth/session" ? { session_id: `ses_${(minted += 1)}` } : {});
  };
  const keeping = { recall: () => told.kept, remember: (id) => (told.kept = id) };
  return [connect({ base: "http://host/", header: "X-Mine", kept: keeping, fetch }), told];
}
const no = (status, code) => Response.json({ error: { code } }, { status });

test("calls at the same time are made by one member, whose session is remembered", async () => {
  const [client, told] = withSessions(() => null);
  await Promise.all([client.conversation("a"), client.conversation("b")]);
  assert.deepEqual(told.calls, [["auth/session", null], ["conversations/a", "ses_1"], ["conversations/b", "ses_1"]]);
  assert.equal(told.kept, "ses_1");
});

test("a session that is not known any more is replaced once", async () => {
  const [client, told] = withSessions((_path, session) => session && no(401, "session_required"), "ses_old");
  await assert.rejects(client.conversation("a"), { status: 401 });
  assert.deepEqual(told.calls, [["conversations/a", "ses_old"], ["auth/session", null], ["conversations/a", "ses_1"]]);
});

test("a session that could not be had is asked for again by the next call", async () => {
  let isIn = false;
  const [client, told] = withSessions(() => (isIn ? null : no(401, "invalid_api_key")));
  await assert.rejects(client.conversation("a"), { status: 401 });
  isIn = true;
  await client.conversation("a");
  assert.deepEqual(told.calls.slice(1), [["auth/session", null], ["conversations/a", "ses_1"]]);
});

test("agents and reviews are asked for without a member", async () => {
  const [client, told] = withSessions(() => null);
  await client.agents();
  await client.reviews();
  assert.equal(await client.isSignedIn(), false);
  assert.deepEqual(told.calls, [["agents", null], ["reviews", null]]);
});
