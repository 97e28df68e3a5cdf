// How a client goes on after what went wrong, without a server.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Disconnected, Refused } from "../dist/index.js";
import { Cut } from "../dist/connection.js";
import { refusal } from "../dist/errors.js";
import { Retries } from "../dist/retries.js";
import { backOff } from "../dist/waiting.js";

const member = { isNamed: true, isMember: true, hasQuestion: true };
const unnamed = { ...member, isNamed: false };
const anonymous = { ...member, isMember: false };
const cut = (begun = true) => new Cut("cut", begun);
const refused = (status, code, retryable = false, more = {}) => new Refused({ status, code, message: "no", retryable, ...more });

/** What is done next after these failures, each with what is known then. */
function steps(first, ...failures) {
  const retries = new Retries(6, first);
  return failures.map(([failure, standing]) => {
    retries.after(failure, standing);
    return retries.step;
  });
}

test("a question without an answer is sent again, and a turn with a name is attached to", () => {
  assert.deepEqual(steps("ask", [cut(false), unnamed], [cut(), unnamed], [cut(), member]), ["ask", "ask", "attach"]);
});

test("an anonymous turn is joined by its question, from then on", () => {
  const gone = refused(404, "not_found");
  assert.deepEqual(steps("ask", [cut(), anonymous], [gone, anonymous], [cut(), anonymous]), ["attach", "ask", "ask"]);
});

test("a member's turn that is gone is never begun anew", () => {
  assert.throws(() => steps("ask", [cut(), member], [refused(404, "not_found"), member]), { code: "not_found" });
});

test("an answer that was cut before its head is sent again, and refused then it has arrived", () => {
  const unavailable = refused(403, "confirmation_unavailable");
  assert.deepEqual(steps("answer", [cut(false), member], [unavailable, member]), ["answer", "attach"]);
  assert.deepEqual(steps("answer", [cut(true), member]), ["attach"]);
  assert.throws(() => steps("answer", [unavailable, member]), { code: "confirmation_unavailable" });
});

test("an answer that was refused when it came again is for the caller, unless the turn has gone on", () => {
  const waits = { kind: "paused", reason: "awaiting_input", questions: [] };
  for (const code of ["confirmation_unavailable", "resume_unavailable", "already_decided"]) {
    const retries = new Retries(6, "answer");
    retries.after(cut(false), member);
    retries.after(refused(code === "already_decided" ? 409 : 403, code), member);
    assert.equal(retries.step, "attach");
    assert.throws(() => retries.close(waits), { code });
    retries.heard();
    retries.close(waits);
  }
  const done = new Retries(6, "answer");
  done.after(cut(false), member);
  done.after(refused(403, "confirmation_unavailable"), member);
  done.close({ kind: "completed", reason: "stop" });
});

test("a refusal that may pass is waited for, from the first on, and a longer or another one is not", () => {
  for (const [status, code, retryAfter] of [[503, "draining", 5], [429, "rate_limited", 5], [503, "overloaded", 30]]) {
    const retries = new Retries(6, "ask");
    assert.ok(retries.after(refused(status, code, true, { retryAfter }), unnamed).wait >= retryAfter * 1000);
    assert.equal(retries.step, "ask");
  }
  for (const no of [
    refused(401, "invalid_api_key"),
    refused(409, "turn_in_progress", true),
    refused(429, "rate_limited", true),
    refused(429, "quota_exceeded", true, { retryAfter: 86_400 }),
    refused(503, "draining", true, { retryAfter: 31 }),
  ]) {
    assert.throws(() => steps("ask", [no, unnamed]), { code: no.code });
  }
});

test("refusals end too, as the refusal that they are", () => {
  const retries = new Retries(2, "ask");
  const draining = refused(503, "draining", true);
  retries.after(draining, unnamed);
  assert.throws(() => retries.after(draining, unnamed), { code: "draining" });
});

test("what a proxy answers in the server's place is tried again", () => {
  assert.deepEqual(steps("ask", [refused(502, "http_502", true), unnamed]), ["ask"]);
});

test("a position that a crash took is given up once", () => {
  const future = refused(422, "validation_error");
  const retries = new Retries(6, "attach");
  assert.equal(retries.after(future, member).fromBeginning, true);
  assert.throws(() => retries.after(future, member), { code: "validation_error" });
});

test("after failures in a row it is given up with the cause, within ten seconds", () => {
  const retries = new Retries(6, "attach");
  let waited = 0;
  for (let n = 1; n < 6; n += 1) waited += retries.after(cut(), member).wait;
  assert.throws(() => retries.after(cut(), member), (error) => error instanceof Disconnected && error.cause instanceof Cut);
  assert.ok(waited < 10_000);
  assert.deepEqual([1, 2, 3, 6, 9].map((n) => backOff(n, 1)), [250, 500, 1000, 4000, 4000]);
});

test("a turn is told again where words were taken back, and once where it was interrupted", () => {
  const retries = new Retries(6, "ask");
  assert.deepEqual([1, 2].map(() => retries.retells("stream_interrupted")), [true, false]);
  const often = Array.from({ length: 11 }, () => retries.retells("answer_replaced"));
  assert.deepEqual(often.indexOf(false), 10);
  assert.equal(retries.retells("agent_error"), false);
});

test("a refusal carries all that was said, and stands without an envelope too", async () => {
  const body = { error: { code: "validation_error", message: "Wrong.", retryable: false, request_id: "req_1", details: [1] } };
  const said = await refusal(new Response(JSON.stringify(body), { status: 422, headers: { "Retry-After": "3" } }));
  const { status, code, message, retryable, retryAfter, details, requestId } = said;
  assert.deepEqual(
    { status, code, message, retryable, retryAfter, details, requestId },
    { status: 422, code: "validation_error", message: "Wrong.", retryable: false, retryAfter: 3, details: [1], requestId: "req_1" },
  );
  for (const text of ["<html>", "null", '{"error":"x"}', ""]) {
    const bare = await refusal(new Response(text, { status: 502 }));
    assert.deepEqual([bare.code, bare.retryable, bare.requestId], ["http_502", true, undefined]);
  }
});
