import assert from "node:assert/strict";
import { test } from "node:test";
import { isLive, newTurn, reduce, turnFromHistory, turnFromReview } from "../../src/turnwire/web/turn.js";

const node = (id, kind = "node", conditional = false) => ({ id, kind, conditional });
const edge = (source, target, conditional = false) => ({ source, target, conditional });
const TOPOLOGY = {
  thread_id: "conv_1",
  turn_id: "trn_1",
  agent: "leaflets",
  model: "m",
  locale: "en",
  resumed: false,
  nodes: [node("pre"), node("retrieve", "retrieval", true), node("write", "model"), node("review", "review")],
  edges: [
    edge("__start__", "pre"),
    edge("pre", "retrieve", true),
    edge("pre", "write", true),
    edge("retrieve", "write"),
    edge("write", "review"),
    edge("review", "__end__"),
  ],
};
const run = (events, from = newTurn({ question: "q" })) =>
  events.reduce((state, [type, data]) => reduce(state, type, data), from);
const went = (id) => [["node_started", { node: id }], ["node_completed", { node: id, status: "executed", duration_ms: 5 }]];

test("tokens add up and the end has the last word", () => {
  const state = run([
    ["graph_topology", TOPOLOGY],
    ["token", { text: "Hel" }],
    ["token", { text: "lo" }],
  ]);
  assert.equal(state.text, "Hello");
  assert.equal(reduce(state, "turn_completed", { content: "Hello.", finish_reason: "stop" }).text, "Hello.");
});

test("a replaced text replaces what was shown", () => {
  const state = run([["graph_topology", TOPOLOGY], ["token", { text: "a" }], ["text_replaced", { text: "b", reason: "r" }]]);
  assert.equal(state.text, "b");
  assert.equal(state.replacedBecause, "r");
});

test("nodes run, settle, are skipped, fail", () => {
  const state = run([
    ["graph_topology", TOPOLOGY],
    ...went("pre"),
    ["node_completed", { node: "retrieve", status: "skipped", duration_ms: 0 }],
    ["node_started", { node: "write" }],
  ]);
  assert.deepEqual(
    Object.fromEntries(Object.entries(state.marks).map(([id, mark]) => [id, mark.state])),
    { pre: "done", retrieve: "skipped", write: "running" },
  );
  assert.equal(state.marks.retrieve.durationMs, null);
  assert.equal(reduce(state, "error", { code: "x", message: "m" }).marks.write.state, "failed");
});

test("what somebody stopped is no error", () => {
  const cancelled = run([
    ["graph_topology", TOPOLOGY],
    ...went("pre"),
    ["node_started", { node: "retrieve" }],
    ["node_started", { node: "write" }],
    ["node_completed", { node: "write", status: "failed", duration_ms: 3 }],
    ["turn_completed", { content: "Hel", finish_reason: "cancelled" }],
  ]);
  const states = Object.fromEntries(Object.entries(cancelled.marks).map(([id, mark]) => [id, mark.state]));
  assert.deepEqual(states, { pre: "done", retrieve: "stopped", write: "stopped" });
});

test("of two ways into a node, the one that was gone is lit", () => {
  const all = run([["graph_topology", TOPOLOGY], ...went("pre"), ...went("retrieve"), ...went("write")]);
  assert.deepEqual(all.taken, ["__start__ → pre", "pre → retrieve", "retrieve → write"]);
  const bypass = run([["graph_topology", TOPOLOGY], ...went("pre"), ...went("write")]);
  assert.deepEqual(bypass.taken, ["__start__ → pre", "pre → write"]);
});

test("a node that ran twice counts twice", () => {
  assert.equal(run([["graph_topology", TOPOLOGY], ...went("pre"), ...went("pre")]).marks.pre.runs, 2);
});

test("a pause waits at the node that asked, and a resumed run goes on from there", () => {
  const review = { review_id: "rev_1", thread_id: "conv_1", draft: "D", citations: [] };
  const paused = run([
    ["graph_topology", TOPOLOGY],
    ...went("pre"),
    ["token", { text: "D" }],
    ["node_started", { node: "review" }],
    ["paused", { thread_id: "conv_1", turn_id: "trn_1", review, pauses: [], draft: "D" }],
  ]);
  assert.equal(paused.phase, "paused");
  assert.equal(paused.draft, "D");
  assert.equal(paused.marks.review.state, "waiting");
  const resumed = reduce(paused, "graph_topology", { ...TOPOLOGY, resumed: true });
  assert.equal(resumed.text, "D");
  assert.equal(resumed.review, null);
  assert.equal(resumed.marks.pre.state, "done");
});

test("a pause at a node that never said it started still shows where", () => {
  const paused = run([["graph_topology", TOPOLOGY], ...went("write"), ["paused", { pauses: [] }]]);
  assert.equal(paused.marks.review.state, "waiting");
});

test("a refused decision leaves the turn waiting", () => {
  const waiting = turnFromReview({ review_id: "rev_1", thread_id: "c", draft: "D" });
  const state = reduce(waiting, "page_refused", { error: { code: "already_decided" } });
  assert.equal(state.phase, "paused");
  assert.equal(state.error.code, "already_decided");
});

test("events that nobody knows change nothing, nor do names of Object's own", () => {
  const state = newTurn();
  assert.equal(reduce(state, "reasoning", { text: "x" }), state);
  assert.equal(reduce(state, "constructor", {}), state);
  assert.equal(reduce(state, "__proto__", {}), state);
});

test("a state never changes", () => {
  const state = newTurn();
  assert.throws(() => {
    state.text = "x";
  }, TypeError);
  reduce(state, "token", { text: "a" });
  assert.equal(state.text, "");
});

test("what replays from the start ends the same", () => {
  const events = [["graph_topology", TOPOLOGY], ...went("pre"), ["token", { text: "a" }], ["turn_completed", { content: "a" }]];
  const once = run(events);
  assert.deepEqual(run(events, once), once);
  assert.equal(isLive(once), false);
});

test("a turn that failed is told as failed after a reload", () => {
  const failed = turnFromHistory("conv_1", { turn_id: "trn_1", question: "Why?", content: "Be", status: "failed", error_code: "upstream_timeout" });
  const completed = turnFromHistory("conv_1", { turn_id: "trn_2", question: "Why?", content: "Because.", status: "completed" });

  assert.deepEqual([failed.phase, failed.text, failed.error.code], ["failed", "Be", "upstream_timeout"]);
  assert.deepEqual([completed.phase, completed.error], ["completed", null]);
});

test("a new question takes a draft back, and leaves what was said before a sign-in", () => {
  const paused = (more) => run([["graph_topology", TOPOLOGY], ["token", { text: "Said." }], ["paused", more]]);
  const review = reduce(paused({ review: { review_id: "rev_1", draft: "Said." } }), "page_passed_over");
  assert.deepEqual([review.text, review.phase], ["", "completed"]);
  const signIn = reduce(paused({ pauses: [{ pause_id: "pse_1", kind: "sign_in" }] }), "page_passed_over");
  assert.deepEqual([signIn.text, signIn.pauses], ["Said.", []]);
});
