// The parser reads what WHATWG HTML's "Interpreting an event stream" says, however it is cut.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { EventStreamParser } from "../dist/index.js";

const GOLDEN = new URL("../../../tests/golden/", import.meta.url);
const FILES = readdirSync(GOLDEN).filter((each) => each.includes(".answer") && each.endsWith(".sse"));
const bytes = (text) => new TextEncoder().encode(text);

function read(...pieces) {
  const parser = new EventStreamParser();
  return pieces.flatMap((each) => parser.feed(each));
}

/** What a golden file says; its framing is fixed, so a regular expression will do. */
function written(text) {
  return [...text.matchAll(/^id: (.*)\nevent: (.*)\ndata: (.*)\n\n/gm)].map(([, id, event, data]) => ({ id, event, data }));
}

assert.ok(FILES.length > 20, "the golden files are elsewhere");
for (const file of FILES) {
  test(`${file} reads the same wherever it is cut`, () => {
    const whole = readFileSync(new URL(file, GOLDEN));
    const wanted = written(whole.toString());
    assert.ok(wanted.length > 1);
    for (let at = 0; at <= whole.length; at += 1) {
      assert.deepEqual(read(whole.subarray(0, at), whole.subarray(at)), wanted, `cut at ${at}`);
    }
    assert.deepEqual(read(...Array.from(whole, (each) => Uint8Array.of(each))), wanted);
  });
}

test("lines end with LF, CR or CRLF, cut anywhere", () => {
  const stream = (end) => ["id: 1", "event: a", "data: x", "data: y", "", "data: z", "", ""].join(end);
  const wanted = [
    { id: "1", event: "a", data: "x\ny" },
    { id: "1", event: "message", data: "z" },
  ];
  for (const end of ["\n", "\r", "\r\n"]) {
    const all = bytes(stream(end));
    for (let at = 0; at <= all.length; at += 1) {
      assert.deepEqual(read(all.subarray(0, at), new Uint8Array(), all.subarray(at)), wanted, JSON.stringify([end, at]));
    }
  }
});

test("characters of two, three and four bytes are said whole", () => {
  const all = bytes("data: é€😀\u2028\u0085\n\n");
  for (let at = 0; at <= all.length; at += 1) {
    assert.equal(read(all.subarray(0, at), all.subarray(at))[0].data, "é€😀\u2028\u0085");
  }
});

test("a byte order mark is taken away, once and at the start only", () => {
  assert.equal(read(bytes("\ufeffdata: x\n\n"))[0].data, "x");
  assert.equal(read(bytes("data: \ufeffx\n\n"))[0].data, "\ufeffx");
});

for (const [claim, stream, wanted] of [
  ["a comment says nothing", ": keep-alive\n\n", []],
  ["an event without data is not dispatched, and its name is forgotten", "event: a\n\ndata: x\n\n", ["message x"]],
  ["an unfinished event is dropped", "data: x\n", []],
  ["one space after the colon is no part of the value", "data:x\n\ndata:  y\n\n", ["message x", "message  y"]],
  ["a field without a colon has an empty value", "data\n\n", ["message "]],
  ["unknown fields and retry are passed over", "retry: 5\nfoo: bar\ndata: x\n\n", ["message x"]],
]) {
  test(claim, () => {
    assert.deepEqual(read(bytes(stream)).map(({ event, data }) => `${event} ${data}`), wanted);
  });
}

test("an id stays for later events, and one with U+0000 is ignored", () => {
  const ids = read(bytes("id: 1\ndata: x\n\nid: 2\0\ndata: y\n\nid\ndata: z\n\n")).map((each) => each.id);
  assert.deepEqual(ids, ["1", "1", ""]);
});
