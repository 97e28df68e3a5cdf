// An answer's words as DOM nodes; never as markup.

import { el } from "./dom.js";
import { parseMarkdown } from "./markdown.js";

/** Nodes for the text. A marker with a citation becomes a link to its card; any other stays text. */
export function answerNodes(text, { citations, idOf, speech }) {
  const known = new Map(citations.map((citation) => [citation.marker, citation]));
  const inline = (pieces) => pieces.map((piece) => inlineNode(piece, known, { idOf, speech }));
  return parseMarkdown(text).map((block) => {
    if (block.type === "code") return el("pre", { tabindex: 0 }, el("code", null, block.text));
    if (block.type === "heading") return el("p", { class: "answer-heading" }, inline(block.inline));
    if (block.type === "p") return el("p", null, inline(block.inline));
    return el(block.type, null, block.items.map((item) => el("li", null, inline(item))));
  });
}

function inlineNode(piece, known, { idOf, speech }) {
  if (piece.type === "text") return piece.text;
  if (piece.type !== "marker") return el(piece.type, null, piece.text);
  const citation = known.get(piece.marker);
  if (!citation) return piece.text;
  const label = speech.say("source_of", { n: piece.marker, title: citation.title });
  return el("a", { class: "marker", href: `#${idOf(piece.marker)}`, "aria-label": label, title: citation.title }, piece.text);
}
