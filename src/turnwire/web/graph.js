// The graph as SVG: drawn once per topology, then only its marks change.

import { el, svg } from "./dom.js";
import { layOut } from "./layout.js";
import { edgeKey } from "./turn.js";

// Smaller than this nobody reads the labels: its place scrolls instead.
const SMALLEST = 0.8;
const GLYPHS = { done: "✓", failed: "!", waiting: "‖", stopped: "■", skipped: "–" };

/** A view of one place on the page: `show(turn, speech)` draws the turn's graph there. */
export function graphView(place) {
  let drawnFor = null;
  let drawing = null;

  return {
    show(turn, speech) {
      const key = turn?.graph ? JSON.stringify(turn.graph) : "";
      if (key !== drawnFor) {
        drawnFor = key;
        drawing = turn?.graph ? draw(turn.graph) : null;
        place.replaceChildren(drawing?.root ?? el("p", { class: "graph-empty" }));
      }
      if (!drawing) place.firstChild.textContent = speech.say(turn?.isGraphHidden ? "graph_hidden" : "graph_empty");
      else mark(drawing, turn, speech);
    },
  };
}

function draw(graph) {
  const plan = layOut(graph);
  const edges = new Map(plan.edges.map((edge) => [edgeKey(edge), drawnEdge(edge)]));
  const nodes = new Map(plan.nodes.map((node) => [node.id, drawnNode(node)]));
  const root = svg(
    "svg",
    { class: "graph", viewBox: `0 0 ${plan.width} ${plan.height}`, width: plan.width, height: plan.height, role: "list" },
    svg("defs", null, arrow("arrow"), arrow("arrow-taken")),
    svg("g", { "aria-hidden": "true" }, [...edges.values()]),
    [...nodes.values()].map((node) => node.group),
  );
  root.style.minWidth = `${Math.ceil(plan.width * SMALLEST)}px`;
  return { root, nodes, edges };
}

const arrow = (id) =>
  svg(
    "marker",
    { id, class: id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0.5 0.8 L7.5 4 L0.5 7.2 Z" }),
  );

function drawnEdge(edge) {
  const d = edge.loop ? loop(edge.points) : curve(edge.points);
  const kinds = ["edge", edge.conditional && "conditional", edge.back && "back"].filter(Boolean);
  return svg("path", { class: kinds.join(" "), d, "marker-end": "url(#arrow)" });
}

function curve([first, ...points]) {
  let path = `M${first.x} ${first.y}`;
  let from = first;
  for (const to of points) {
    const middle = (from.y + to.y) / 2;
    path += ` C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.y}`;
    from = to;
  }
  return path;
}

const loop = ([from, to]) => `M${from.x} ${from.y} C${from.x + 30} ${from.y} ${to.x + 30} ${to.y} ${to.x} ${to.y}`;

function drawnNode(node) {
  const { x, y, w, h } = node;
  if (node.dot) {
    const circle = svg("circle", { cx: x, cy: y, r: h / 2 - 1 });
    return { node, group: svg("g", { class: "dot", role: "listitem", data: { node: node.id } }, circle) };
  }
  const room = Math.floor((w - 44) / 7.9);
  const label = node.id.length > room ? `${node.id.slice(0, room - 1)}…` : node.id;
  const left = x - w / 2;
  const glyph = svg("text", { class: "glyph", x: left + 18, y: y + 4.5, "text-anchor": "middle" });
  const detail = svg("text", { class: "detail", x: left + 34, y: y + 14 });
  const text = svg("text", { class: "label", x: left + 34 }, label);
  const group = svg(
    "g",
    { class: node.conditional ? "node conditional" : "node", role: "listitem", data: { node: node.id } },
    svg("title", null, node.id),
    svg("rect", { x: left, y: y - h / 2, width: w, height: h, rx: 11 }),
    svg("circle", { class: "lamp", cx: left + 18, cy: y, r: 4 }),
    glyph,
    text,
    detail,
  );
  return { node, group, glyph, text, detail };
}

function mark({ root, nodes, edges }, turn, speech) {
  root.setAttribute("aria-label", speech.say("graph"));
  const isOver = turn.phase === "completed" && turn.finishReason !== "cancelled";
  for (const { node, group, glyph, text, detail } of nodes.values()) {
    const seen = turn.marks[node.id];
    const state = node.dot ? dotState(node.id, isOver) : (seen?.state ?? "pending");
    group.dataset.state = state;
    const told = [speech.name("legend", state)];
    if (seen?.durationMs !== null && seen?.durationMs !== undefined) told.push(speech.duration(seen.durationMs));
    if (seen?.runs > 1) told.push(speech.say("runs", { n: seen.runs }));
    group.setAttribute("aria-label", [node.id, ...told].join(", "));
    if (node.dot) continue;
    glyph.textContent = GLYPHS[state] ?? "";
    const shown = state === "pending" ? [] : state === "done" && told.length > 1 ? told.slice(1) : told;
    detail.textContent = [node.kind === "node" ? null : node.kind, ...shown].filter(Boolean).join(" · ");
    text.setAttribute("y", detail.textContent ? node.y - 2 : node.y + 4.5);
  }
  for (const [key, path] of edges) {
    const isTaken = turn.taken.includes(key);
    path.classList.toggle("taken", isTaken);
    path.setAttribute("marker-end", isTaken ? "url(#arrow-taken)" : "url(#arrow)");
  }
}

const dotState = (id, isOver) => (id === "__start__" || isOver ? "done" : "pending");
