import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut } from "../../src/turnwire/web/layout.js";

const graphOf = (...edges) => {
  const pairs = edges.map((edge) => edge.split(">"));
  const ids = [...new Set(pairs.flat())];
  return {
    nodes: ids.map((id) => ({ id, kind: "node", conditional: false })),
    edges: pairs.map(([source, target]) => ({ source, target, conditional: false })),
  };
};
const at = (plan) => Object.fromEntries(plan.nodes.map((node) => [node.id, node]));

function assertNothingOverlaps({ nodes, width, height }) {
  for (const [index, a] of nodes.entries()) {
    assert.ok(a.x - a.w / 2 >= 0 && a.x + a.w / 2 <= width && a.y - a.h / 2 >= 0 && a.y + a.h / 2 <= height, a.id);
    for (const b of nodes.slice(index + 1)) {
      assert.ok(Math.abs(a.x - b.x) >= (a.w + b.w) / 2 || Math.abs(a.y - b.y) >= (a.h + b.h) / 2, `${a.id} on ${b.id}`);
    }
  }
}

test("edges lead down, and a straight run is straight", () => {
  const plan = layOut(graphOf("__start__>a", "a>b", "b>c", "a>c", "c>__end__"));
  const { a, b, c } = at(plan);
  assert.ok(a.y < b.y && b.y < c.y);
  assert.ok(Math.abs(a.x - b.x) < 1 && Math.abs(b.x - c.x) < 1);
  assertNothingOverlaps(plan);
});

test("a run that an edge passes by is straight from its start to its end", () => {
  const plan = layOut(graphOf("__start__>a", "a>b", "b>c", "c>d", "d>e", "b>d", "e>__end__"));
  assert.ok(plan.nodes.every((node) => Math.abs(node.x - plan.nodes[0].x) < 1));
});

test("a loop between agent and tools leads back up", () => {
  const plan = layOut(graphOf("__start__>agent", "agent>tools", "tools>agent", "agent>__end__"));
  const back = plan.edges.find((edge) => edge.source === "tools");
  assert.equal(back.back, true);
  assert.ok(back.points[0].y > back.points.at(-1).y);
  assert.ok(at(plan).__end__.y > at(plan).tools.y);
  assertNothingOverlaps(plan);
});

test("branches, a self-loop, an unknown end and a lone node find a place", () => {
  const graph = graphOf("s>a", "s>b", "s>c", "a>d", "b>d", "c>d", "c>c", "d>s");
  graph.nodes.push({ id: "lone", kind: "node", conditional: false });
  graph.edges.push({ source: "d", target: "nowhere", conditional: true });
  const plan = layOut(graph);
  assert.equal(plan.nodes.length, 7);
  assertNothingOverlaps(plan);
});

test("edges that go round make a graph no wider than its widest layer", () => {
  const rounds = ["s>a", "a>b", "b>c", "c>d", "d>a", "c>a", "d>b", "a>d", "a>c", "b>d", "a>e", "e>d"];
  const plan = layOut(graphOf(...rounds));
  const node = plan.nodes[0].w;
  // Two nodes stand beside each other at most; an edge that passes takes 12 beside them.
  assert.ok(plan.width <= 2 * node + 26 + rounds.length * 12 + 16, String(plan.width));
  assertNothingOverlaps(plan);
});

test("a graph of nothing is no error", () => {
  assert.deepEqual(layOut({ nodes: [], edges: [] }).nodes, []);
});

test("a graph of two hundred nodes is laid out within a second", () => {
  const edges = Array.from({ length: 200 }, (_, i) => [`n${i}>n${i + 1}`, `n${i}>n${Math.min(200, i + 5)}`]).flat();
  const started = performance.now();
  assertNothingOverlaps(layOut(graphOf(...edges)));
  assert.ok(performance.now() - started < 1_000);
});
