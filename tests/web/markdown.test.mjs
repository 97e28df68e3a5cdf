import assert from "node:assert/strict";
import { test } from "node:test";
import { parseInline, parseMarkdown } from "../../src/turnwire/web/markdown.js";
import { replyValue } from "../../src/turnwire/web/cards.js";
import { firstLanguage, LANGUAGES, speaker } from "../../src/turnwire/web/text.js";

const text = (value) => ({ type: "text", text: value });

test("paragraphs, lists, a heading and code", () => {
  assert.deepEqual(parseMarkdown("# T\none\ntwo\n\n- a\n- b\n\n1. c\n```\n**d**\n```"), [
    { type: "heading", inline: [text("T")] },
    { type: "p", inline: [text("one\ntwo")] },
    { type: "ul", items: [[text("a")], [text("b")]] },
    { type: "ol", items: [[text("c")]] },
    { type: "code", text: "**d**" },
  ]);
});

test("a blank line between items does not end the list", () => {
  assert.equal(parseMarkdown("- a\n\n- b").length, 1);
});

test("emphasis, code and markers", () => {
  assert.deepEqual(parseInline("**a** *b* `c` [1]"), [
    { type: "strong", text: "a" },
    text(" "),
    { type: "em", text: "b" },
    text(" "),
    { type: "code", text: "c" },
    text(" "),
    { type: "marker", marker: 1, text: "[1]" },
  ]);
});

test("what is not closed yet stays as it is", () => {
  assert.deepEqual(parseInline("2 * 3 * 4, **bo"), [text("2 * 3 * 4, **bo")]);
});

test("links and tags are text", () => {
  const wild = "[x](javascript:alert(1)) ![i](http://h/i.png) <b>";
  assert.deepEqual(parseInline(wild), [text(wild)]);
});

test("long rubbish is read quickly", () => {
  const started = performance.now();
  parseMarkdown("*a ".repeat(20_000) + "`".repeat(20_001) + "**".repeat(20_000));
  assert.ok(performance.now() - started < 2_000);
});

test("a reply is JSON where it is JSON, and a string where the schema says so", () => {
  assert.deepEqual(replyValue('{"a": 1}'), { a: 1 });
  assert.equal(replyValue("soon"), "soon");
  assert.equal(replyValue("42", { type: "string" }), "42");
});

test("both languages have every word, with the same values in it", () => {
  const [en, es] = LANGUAGES.map(speaker);
  const values = (words) => (words.match(/\{\w+\}/g) ?? []).sort();
  for (const key of en.keys) assert.deepEqual(values(es.raw(key)), values(en.raw(key)), key);
  assert.deepEqual(en.keys, es.keys);
});

test("the language is the chosen one, else the browser's, else English", () => {
  assert.equal(firstLanguage("es", ["en-GB"]), "es");
  assert.equal(firstLanguage(null, ["de", "es-MX"]), "es");
  assert.equal(firstLanguage("xx", ["de"]), "en");
});
