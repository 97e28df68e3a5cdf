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

test("what turnwire refuses at first is for the caller, and later it is waited for", () => {
  const draining = refused(503, "draining", true, { retryAfter: 5 });
  assert.throws(() => steps("ask", [draining, unnamed]), { code: "draining" });
  const retries = new Retries(6, "ask");
  retries.after(cut(), member);
  assert.ok(retries.after(draining, member).wait >= 5000);
  assert.throws(() => retries.after(refused(401, "invalid_api_key"), member), { code: "invalid_api_key" });
  const nextDay = refused(429, "quota_exceeded", true, { retryAfter: 86_400 });
  assert.throws(() => retries.after(nextDay, member), { code: "quota_exceeded" });
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
