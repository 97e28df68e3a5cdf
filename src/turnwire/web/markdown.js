// The little Markdown that answers use: text → blocks. Pure. Everything else stays text; there
// are no links and no images, so an answer can neither load nor lead anywhere by itself.

const FENCE = /^\s*```/;
const HEADING = /^#{1,6}\s+(.*)$/;
const ITEM = /^\s*[-*•]\s+(.*)$/;
const NUMBERED = /^\s*\d{1,3}[.)]\s+(.*)$/;
const INLINE = /\*\*([^*]+)\*\*|\*([^*\s](?:[^*]*[^*\s])?)\*|`([^`]+)`|\[(\d{1,3})\]/g;

/** Blocks: `{type: "p"|"heading", inline}`, `{type: "ul"|"ol", items}`, `{type: "code", text}`. */
export function parseMarkdown(text) {
  const blocks = [];
  let code = null;
  for (const line of text.replace(/\r\n?/g, "\n").split("\n")) {
    if (FENCE.test(line)) {
      if (code === null) blocks.push((code = { type: "code", lines: [] }));
      else code = null;
    } else if (code !== null) code.lines.push(line);
    else addLine(blocks, line);
  }
  return blocks.filter((block) => block.type !== "gap").map(finished);
}

function addLine(blocks, line) {
  const last = blocks.at(-1);
  if (line.trim() === "") return void blocks.push({ type: "gap" });
  const heading = HEADING.exec(line);
  if (heading) return void blocks.push({ type: "heading", lines: [heading[1]] });
  for (const [type, pattern] of [["ul", ITEM], ["ol", NUMBERED]]) {
    const item = pattern.exec(line);
    if (!item) continue;
    // A blank line between two items does not end the list.
    const open = last?.type === "gap" ? blocks.at(-2) : last;
    if (open?.type === type) {
      if (last.type === "gap") blocks.pop();
      open.lines.push(item[1]);
    } else blocks.push({ type, lines: [item[1]] });
    return;
  }
  if (last?.type === "p") last.lines.push(line);
  else if (last?.type === "ul" || last?.type === "ol") last.lines.push(`${last.lines.pop()}\n${line.trim()}`);
  else blocks.push({ type: "p", lines: [line] });
}

function finished({ type, lines }) {
  if (type === "code") return { type, text: lines.join("\n") };
  if (type === "ul" || type === "ol") return { type, items: lines.map(parseInline) };
  return { type, inline: parseInline(lines.join("\n")) };
}

/** Pieces: `{type: "text"|"strong"|"em"|"code", text}` and `{type: "marker", marker, text}`. */
export function parseInline(text) {
  const pieces = [];
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > from) pieces.push({ type: "text", text: text.slice(from, match.index) });
    pieces.push(piece(match));
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ type: "text", text: text.slice(from) });
  return pieces;
}

function piece([whole, strong, em, code, marker]) {
  if (strong !== undefined) return { type: "strong", text: strong };
  if (em !== undefined) return { type: "em", text: em };
  if (code !== undefined) return { type: "code", text: code };
  return { type: "marker", marker: Number(marker), text: whole };
}
