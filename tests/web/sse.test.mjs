import assert from "node:assert/strict";
import { test } from "node:test";
import { EventStreamDecoder } from "../../src/turnwire/web/sse.js";

const bytes = (text) => new TextEncoder().encode(text);
const decode = (...chunks) => {
  const decoder = new EventStreamDecoder();
  return chunks.flatMap((chunk) => decoder.push(typeof chunk === "string" ? bytes(chunk) : chunk));
};
const message = (data, event = "message", id = "") => ({ event, data, id });

test("a frame has an event, data and an id", () => {
  assert.deepEqual(decode('id: trn_1.4\nevent: token\ndata: {"text":"a"}\n\n'), [
    { event: "token", data: '{"text":"a"}', id: "trn_1.4" },
  ]);
});

for (const [name, end] of [["LF", "\n"], ["CR", "\r"], ["CRLF", "\r\n"]]) {
  test(`${name} ends a line`, () => {
    assert.deepEqual(decode(`data: a${end}data: b${end}${end}data: c${end}${end}`), [message("a\nb"), message("c")]);
  });
}

test("a CRLF that two chunks share is one line end", () => {
  assert.deepEqual(decode("data: a\r", "\ndata: b\r", "\n\r", "\n"), [message("a\nb")]);
});

test("an empty chunk inside a CRLF changes nothing", () => {
  assert.deepEqual(decode("data: a\r", "", "\ndata: b\r\n\r\n"), [message("a\nb")]);
});

test("a CR that ends a message hands it over at once", () => {
  assert.deepEqual(decode("data: a\r\r"), [message("a")]);
});

test("comments say nothing", () => {
  assert.deepEqual(decode(": keep-alive\n\n:\n:data: x\n\ndata: a\n\n"), [message("a")]);
});

test("a leading BOM is dropped, a later one is not", () => {
  assert.deepEqual(decode("\ufeffdata: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n"), [message("a"), message("\ufeffc")]);
});

test("only one space after the colon belongs to the syntax", () => {
  assert.deepEqual(decode("data:a\ndata:  b\ndata: c:d\n\n"), [message("a\n b\nc:d")]);
});

test("a field without a colon has an empty value", () => {
  assert.deepEqual(decode("data\ndata\n\n"), [message("\n")]);
});

test("a block without data is no message and does not lend its name to the next", () => {
  assert.deepEqual(decode("event: token\n\ndata: a\n\nevent: x\ndata\n\n"), [message("a")]);
});

test("an id holds until the next one, and one with NUL is ignored", () => {
  assert.deepEqual(decode("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\nid\ndata: c\n\n"), [
    message("a", "message", "1"),
    message("b", "message", "1"),
    message("c"),
  ]);
});

test("the last event id is that of finished blocks", () => {
  const decoder = new EventStreamDecoder();
  decoder.push(bytes("id: 7\n\nid: 8\ndata: never finished\n"));
  assert.equal(decoder.lastEventId, "7");
});

test("retry takes digits only", () => {
  const decoder = new EventStreamDecoder();
  decoder.push(bytes("retry: 1500\nretry: soon\nretry: -1\n"));
  assert.equal(decoder.retryMs, 1500);
});

test("unknown fields are ignored, names are case-sensitive", () => {
  assert.deepEqual(decode("Data: x\n data: y\nfoo: z\ndata: a\n\n"), [message("a")]);
});

test("a line separator of Unicode is not a line end", () => {
  assert.deepEqual(decode("data: a\u2028b\u0085c\n\n"), [message("a\u2028b\u0085c")]);
});

test("cut at any two places, a stream means the same", () => {
  const whole = bytes("\ufeff: hi\r\nid: t.1\r\nevent: token\rdata: ¿Qué 🩺?\ndata: é\r\n\r\ndata: z\n\n");
  const expected = [message("¿Qué 🩺?\né", "token", "t.1"), message("z", "message", "t.1")];
  for (let first = 0; first <= whole.length; first += 1) {
    for (let second = first; second <= whole.length; second += 1) {
      const cut = decode(whole.subarray(0, first), whole.subarray(first, second), whole.subarray(second));
      assert.deepEqual(cut, expected, `cut at ${first} and ${second}`);
    }
  }
});

test("one byte at a time, a stream means the same", () => {
  const whole = bytes("\ufeffdata: 🩺\r\n\r\n");
  assert.deepEqual(decode(...[...whole].map((byte) => Uint8Array.of(byte))), [message("🩺")]);
});
