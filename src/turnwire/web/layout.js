// Where the nodes and edges of an agent's graph go: layers from top to bottom. Pure.
//
// Sugiyama, Tagawa, Toda 1981 in small: turn back edges round, put nodes into layers by longest
// path, give long edges a bend in each layer they cross, order layers by barycentre, place by
// priority (nodes before bends). Nothing is wider than its widest layer, for the place is narrow.

const NODE_HEIGHT = 46;
const DOT = 14;
const GAP_X = 26;
const GAP_BEND = 6;
const BEND = 6;
const GAP_Y = 30;
const MARGIN = 8;
const DOTS = new Set(["__start__", "__end__"]);

/** `{width, height, nodes: [{id, kind, conditional, dot, x, y, w, h}], edges: [{…, points}]}`. */
export function layOut({ nodes, edges }) {
  const graph = complete(nodes, edges);
  const forward = withoutCycles(graph);
  const layerOf = layers(graph, forward);
  const rows = fill(graph, forward, layerOf);
  order(rows);
  place(rows);
  return measured(graph, forward, rows);
}

function complete(nodes, edges) {
  const known = new Map(nodes.map((node) => [node.id, node]));
  for (const id of edges.flatMap((edge) => [edge.source, edge.target])) {
    if (!known.has(id)) known.set(id, { id, kind: "node", conditional: false });
  }
  const single = new Map(edges.map((edge) => [JSON.stringify([edge.source, edge.target]), edge]));
  const longest = Math.max(0, ...[...known.keys()].filter((id) => !DOTS.has(id)).map((id) => id.length));
  const width = Math.min(250, Math.max(150, Math.round(longest * 8.1) + 50));
  return { nodes: [...known.values()], edges: [...single.values()], width };
}

function withoutCycles({ nodes, edges }) {
  const out = Map.groupBy ? Map.groupBy(edges, (edge) => edge.source) : groupBySource(edges);
  const entered = new Set();
  const left = new Set();
  const back = new Set();
  const visit = (id) => {
    entered.add(id);
    for (const edge of out.get(id) ?? []) {
      if (entered.has(edge.target) && !left.has(edge.target)) back.add(edge);
      else if (!entered.has(edge.target)) visit(edge.target);
    }
    left.add(id);
  };
  const targets = new Set(edges.map((edge) => edge.target));
  const sources = nodes.filter((node) => !targets.has(node.id));
  for (const { id } of [...sources, ...nodes]) if (!entered.has(id)) visit(id);
  return edges
    .filter((edge) => edge.source !== edge.target)
    .map((edge) =>
      back.has(edge)
        ? { edge, from: edge.target, to: edge.source, back: true }
        : { edge, from: edge.source, to: edge.target, back: false },
    );
}

function groupBySource(edges) {
  const groups = new Map();
  for (const edge of edges) groups.set(edge.source, [...(groups.get(edge.source) ?? []), edge]);
  return groups;
}

function layers({ nodes }, forward) {
  const into = new Map(nodes.map((node) => [node.id, []]));
  for (const { from, to } of forward) into.get(to).push(from);
  const layerOf = new Map();
  const depth = (id) => {
    if (!layerOf.has(id)) layerOf.set(id, Math.max(0, ...into.get(id).map((source) => depth(source) + 1)));
    return layerOf.get(id);
  };
  for (const { id } of nodes) depth(id);
  const last = Math.max(0, ...nodes.filter((n) => n.id !== "__end__").map((n) => layerOf.get(n.id)));
  if (layerOf.has("__end__")) layerOf.set("__end__", last + 1);
  return layerOf;
}

function fill({ nodes, width }, forward, layerOf) {
  const rows = Array.from({ length: Math.max(0, ...layerOf.values()) + 1 }, () => []);
  const spots = new Map();
  for (const node of nodes) {
    const spot = { node, w: DOTS.has(node.id) ? DOT : width, above: [], below: [], x: 0 };
    spots.set(node.id, spot);
    rows[layerOf.get(node.id)].push(spot);
  }
  for (const link of forward) {
    link.spots = [spots.get(link.from)];
    for (let row = layerOf.get(link.from) + 1; row < layerOf.get(link.to); row += 1) {
      const bend = { node: null, w: BEND, above: [], below: [], x: 0 };
      rows[row].push(bend);
      link.spots.push(bend);
    }
    link.spots.push(spots.get(link.to));
    for (let i = 1; i < link.spots.length; i += 1) {
      link.spots[i].above.push(link.spots[i - 1]);
      link.spots[i - 1].below.push(link.spots[i]);
    }
  }
  return rows.filter((row) => row.length > 0);
}

function order(rows) {
  const renumber = (row) => row.forEach((spot, index) => (spot.rank = index));
  rows.forEach(renumber);
  const sort = (row, side) => {
    const key = new Map(row.map((spot) => [spot, mean(spot[side].map((s) => s.rank)) ?? spot.rank]));
    row.sort((a, b) => key.get(a) - key.get(b));
    renumber(row);
  };
  for (let sweep = 0; sweep < 4; sweep += 1) {
    rows.forEach((row) => sort(row, "above"));
    rows.toReversed().forEach((row) => sort(row, "below"));
  }
}

function place(rows) {
  const width = Math.max(0, ...rows.map(tight));
  const first = Math.max(0, ...rows.map((row) => row[0].w)) / 2;
  for (const row of rows) pack(row, row.map((_, index) => first + index * 40), width);
  for (let sweep = 0; sweep < 10; sweep += 1) {
    for (const row of sweep % 2 ? rows.toReversed() : rows) pack(row, row.map(wish), width);
  }
}

const gap = (a, b) => (a.node && b.node ? GAP_X : GAP_BEND);

// How far apart the centres of two spots of a row are at least.
function between(row, i, j) {
  let distance = 0;
  for (let k = i; k < j; k += 1) distance += row[k].w / 2 + gap(row[k], row[k + 1]) + row[k + 1].w / 2;
  return distance;
}

const tight = (row) => row[0].w / 2 + between(row, 0, row.length - 1) + row.at(-1).w / 2;

// A node stands under other nodes, a bend wherever its edge runs straight.
function wish(spot) {
  const around = [...spot.above, ...spot.below];
  const nodes = around.filter((other) => other.node);
  const bends = around.filter((other) => !other.node);
  const near = spot.node ? (nodes.length ? nodes : bends) : bends.length ? bends : nodes;
  return mean(near.map((other) => other.x)) ?? spot.x;
}

function pack(row, wishes, width) {
  const placed = new Set();
  const last = row.length - 1;
  const byPriority = row.map((_, index) => index).sort((a, b) => row[b].w - row[a].w);
  for (const index of byPriority) {
    let low = row[0].w / 2 + between(row, 0, index);
    let high = width - between(row, index, last) - row[last].w / 2;
    for (const other of placed) {
      if (other < index) low = Math.max(low, row[other].x + between(row, other, index));
      else high = Math.min(high, row[other].x - between(row, index, other));
    }
    row[index].x = Math.max(low, Math.min(high, wishes[index]));
    placed.add(index);
  }
}

function measured(graph, forward, rows) {
  const all = rows.flat();
  const left = Math.min(...all.map((spot) => spot.x - spot.w / 2));
  const right = Math.max(...all.map((spot) => spot.x + spot.w / 2));
  let y = MARGIN;
  for (const row of rows) {
    const h = row.some((spot) => spot.node && !DOTS.has(spot.node.id)) ? NODE_HEIGHT : DOT;
    for (const spot of row) {
      spot.x += MARGIN - left;
      spot.h = spot.node ? (DOTS.has(spot.node.id) ? DOT : NODE_HEIGHT) : h;
      spot.y = y + h / 2;
    }
    y += h + GAP_Y;
  }
  const loops = graph.edges.filter((edge) => edge.source === edge.target);
  const spotOf = new Map(all.filter((spot) => spot.node).map((spot) => [spot.node.id, spot]));
  return {
    width: right - left + 2 * MARGIN + (loops.length ? 28 : 0),
    height: y - GAP_Y + MARGIN,
    nodes: [...spotOf.values()].map(({ node, x, y: cy, w, h }) => ({ ...node, dot: DOTS.has(node.id), x, y: cy, w, h })),
    edges: [...forward.map(bent), ...loops.map((edge) => looped(edge, spotOf.get(edge.source)))],
  };
}

function bent({ edge, spots, back }) {
  const points = spots.flatMap((spot, index) => {
    const x = spot.node ? port(spot, spots[index === 0 ? 1 : index - 1], back) : spot.x;
    const ends = [{ x, y: spot.y - spot.h / 2 }, { x, y: spot.y + spot.h / 2 }];
    if (index === 0) return ends.slice(1);
    return index === spots.length - 1 ? ends.slice(0, 1) : ends;
  });
  return { ...edge, back, points: back ? points.toReversed() : points };
}

// An edge leaves and enters on the side it comes from, so that two edges do not share an arrow.
function port({ x, w }, next, back) {
  const reach = w * 0.3;
  const aside = Math.max(-reach, Math.min(reach, (next.x - x) * 0.6));
  return x + (back && Math.abs(aside) < 1 ? Math.min(18, reach) : aside);
}

const looped = (edge, { x, y, w }) => ({
  ...edge,
  back: true,
  loop: true,
  points: [{ x: x + w / 2, y: y + 10 }, { x: x + w / 2, y: y - 10 }],
});

const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
