// What there is to show of a turn, and that nothing of it is said twice or lost by a cut.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { EventStreamParser, NOTHING, reduce } from "../dist/index.js";
import { Heard } from "../dist/heard.js";
import { typed } from "../dist/turn.js";

const GOLDEN = new URL("../../../tests/golden/", import.meta.url);
const FILES = readdirSync(GOLDEN).filter((each) => each.endsWith(".answer.sse"));

function told(file) {
  return new EventStreamParser().feed(readFileSync(new URL(file, GOLDEN))).map(typed);
}

function take(heard, events, before = NOTHING) {
  return events.flatMap((each) => heard.take(each)).reduce(reduce, before);
}

const word = (seq, text) => ({ id: `trn_1.${seq}`, event: "token.delta", data: { text } });
const ended = (seq) => ({ id: `trn_1.${seq}`, event: "message.completed", data: { message_id: "trn_1", finish_reason: "stop" } });

for (const file of FILES) {
  const all = told(file);
  const isReplaced = all.at(-1).data.code === "answer_replaced";

  if (!isReplaced) test(`${file}: hearing it again from its beginning changes nothing`, () => {
    const whole = take(new Heard(), all);
    assert.ok(whole.id !== "" && whole.ending !== undefined);
    for (let cut = 1; cut <= all.length; cut += 1) {
      const heard = new Heard();
      const part = take(heard, all.slice(0, cut));
      heard.fromBeginning();
      assert.equal(heard.resume(), "");
      assert.deepEqual(take(heard, all, part), whole, `cut after ${cut}`);
    }
  });

  test(`${file}: a position leads to all that was not heard`, () => {
    for (let cut = 1; cut < all.length; cut += 1) {
      const heard = new Heard();
      const before = all.slice(0, cut).flatMap((each) => heard.take(each));
      const rest = all.filter((each) => number(each.id) > number(heard.resume()) || shares(each, all, heard));
      const after = rest.flatMap((each) => heard.take(each));
      assert.deepEqual([...before, ...after], all, `cut after ${cut}`);
    }
  });

  const again = file.replace(".answer.", ".answer-again.");
  if (existsSync(new URL(again, GOLDEN))) {
    test(`${file}: words that were taken back are gone when it is told again`, () => {
      const wanted = take(new Heard(), told(again));
      for (let cut = 1; cut < all.length; cut += 1) {
        const heard = new Heard();
        const part = take(heard, all.slice(0, cut));
        heard.fromBeginning();
        assert.deepEqual(take(heard, told(again), part).text, wanted.text, `cut after ${cut}`);
      }
    });
  }
}

const number = (id) => Number(id.split(".")[1]);
/** Whether the server tells it again: one of several frames of the event after the position. */
function shares(each, all, heard) {
  return number(each.id) === number(heard.lastId) && all.indexOf(each) > 0;
}

test("an event that comes twice is told once", () => {
  const heard = new Heard();
  const citation = { id: "trn_1.3", event: "citation", data: { id: "psg-1" } };
  const all = [word(2, "a"), citation, word(2, "a"), citation, ended(4)];
  assert.deepEqual(all.flatMap((each) => heard.take(each)), [word(2, "a"), citation, ended(4)]);
});

test("words that were heard and never stored are forgotten", () => {
  const heard = new Heard();
  const part = take(heard, [word(2, "Rest "), word(3, "lost")]);
  heard.fromBeginning();
  const failed = { id: "trn_1.3", event: "error", data: { code: "stream_interrupted", message: "x", retryable: true } };
  const events = [word(2, "Rest "), failed].flatMap((each) => heard.take(each));
  assert.deepEqual(events.map((each) => each.event), ["client.restarted", "token.delta", "error"]);
  assert.equal(events.reduce(reduce, part).text, "Rest ");
});

test("a stream that is cut while it is told again is told again whole", () => {
  const heard = new Heard();
  const all = [word(2, "a"), word(3, "b"), word(4, "c"), ended(5)];
  let message = take(heard, all.slice(0, 2));
  heard.fromBeginning();
  message = take(heard, all.slice(0, 1), message);
  assert.equal(heard.resume(), "");
  assert.equal(take(heard, all, message).text, "abc");
});

test("an event and a finish reason of a later server pass through", () => {
  const unknown = typed({ id: "trn_1.2", event: "weather.changed", data: '{"sun":true}' });
  assert.deepEqual(unknown, {
    id: "trn_1.2",
    event: "client.unknown",
    data: { name: "weather.changed", data: { sun: true } },
  });
  const heard = new Heard();
  const bored = { ...ended(3), data: { message_id: "trn_1", finish_reason: "bored" } };
  const message = take(heard, [unknown, bored]);
  assert.deepEqual(message.ending, { kind: "completed", reason: "bored" });
  assert.equal(heard.lastId, "trn_1.3");
});

test("a pause waits and is not over, and what follows opens the message again", () => {
  const paused = { id: "trn_1.3", event: "message.completed", data: { message_id: "trn_1", finish_reason: "awaiting_review" } };
  const message = take(new Heard(), [word(2, "a"), paused]);
  assert.deepEqual(message.ending, { kind: "paused", reason: "awaiting_review", questions: [] });
  const opened = { id: "trn_1.4", event: "message.started", data: { message_id: "trn_1", conversation_id: "conv_1", model: "m" } };
  assert.equal(reduce(message, opened).ending, undefined);
  assert.equal(reduce(message, opened).text, "a");
});
