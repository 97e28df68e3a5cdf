// A turn as the page shows it: state × event → state. Pure; every state is frozen.
//
// The server's events keep their wire names; what the page itself learns (it sent, it lost the
// connection, it was refused) comes in as events of the same form, named `page_…`.

// The phases: idle, sending, streaming, reconnecting, paused, completed, failed, refused, lost.
const LIVE = new Set(["sending", "streaming", "reconnecting"]);

/** Whether more is expected from the server without anybody doing anything. */
export const isLive = (state) => LIVE.has(state.phase);

/** Whether the execution wire says nothing after this event. */
export const isTerminator = (type) => type === "turn_completed" || type === "error";

/** A turn before its first event; `known` is what the page already knows of it. */
export function newTurn(known = {}) {
  return Object.freeze({
    phase: "idle",
    question: "",
    threadId: null,
    turnId: null,
    agent: null,
    model: null,
    locale: null,
    text: "",
    replacedBecause: null,
    citations: [],
    decisions: [],
    cost: null,
    finishReason: null,
    humanWaitMs: null,
    graph: null,
    isGraphHidden: false,
    lacksSignIn: false,
    marks: {},
    taken: [],
    review: null,
    pauses: [],
    draft: "",
    error: null,
    attempt: 0,
    ...known,
  });
}

/** A finished turn as `GET /conversations/{id}` tells it. */
export function turnFromHistory(threadId, told) {
  const isFailed = told.status === "failed";
  return newTurn({
    phase: isFailed ? "failed" : "completed",
    error: isFailed ? { code: told.error_code, message: "", retryable: false } : null,
    question: told.question ?? "",
    threadId,
    turnId: told.turn_id,
    text: told.content ?? "",
    citations: told.citations ?? [],
    finishReason: told.finish_reason ?? null,
  });
}

/** A turn that waits for a review, as `GET /reviews` tells it. */
export function turnFromReview(review) {
  return newTurn({
    phase: "paused",
    question: review.question ?? "",
    threadId: review.thread_id,
    turnId: review.turn_id ?? null,
    text: review.draft ?? "",
    draft: review.draft ?? "",
    citations: review.citations ?? [],
    review,
  });
}

/** The state after the event; the same state if the event is not known. The set is open. */
export function reduce(state, type, data = {}) {
  const change = Object.hasOwn(CHANGES, type) ? CHANGES[type](state, data) : null;
  return change ? Object.freeze({ ...state, ...change }) : state;
}

const CHANGES = {
  graph_topology: (state, data) => ({
    phase: "streaming",
    threadId: data.thread_id,
    turnId: data.turn_id,
    agent: data.agent ?? state.agent,
    model: data.model ?? state.model,
    locale: data.locale ?? state.locale,
    graph: { nodes: data.nodes ?? [], edges: data.edges ?? [] },
    marks: data.resumed ? withState(state.marks, "waiting", "running") : {},
    taken: data.resumed ? state.taken : [],
    text: data.resumed ? state.text : "",
    review: null,
    pauses: [],
    error: null,
    attempt: 0,
  }),

  node_started: (state, { node }) => ({
    ...heard(),
    marks: { ...state.marks, [node]: { ...state.marks[node], state: "running", durationMs: null } },
    taken: [...new Set([...state.taken, ...edgesInto(state, node)])],
  }),

  node_completed: (state, { node, status, duration_ms: durationMs }) => ({
    ...heard(),
    marks: moveToEnd(state.marks, node, {
      state: { skipped: "skipped", failed: "failed" }[status] ?? "done",
      durationMs: status === "skipped" ? null : (durationMs ?? null),
      runs: (state.marks[node]?.runs ?? 0) + (status === "skipped" ? 0 : 1),
    }),
  }),

  token: (state, { text }) => ({ ...heard(), text: state.text + (text ?? "") }),

  text_replaced: (state, { text, reason }) => ({
    ...heard(),
    text: text ?? "",
    replacedBecause: reason ?? "",
  }),

  paused: (state, data) => ({
    phase: "paused",
    threadId: data.thread_id ?? state.threadId,
    turnId: data.turn_id ?? state.turnId,
    review: data.review ?? null,
    pauses: data.pauses ?? [],
    draft: data.draft || data.review?.draft || state.text,
    citations: data.review?.citations ?? state.citations,
    marks: waiting(state),
    attempt: 0,
  }),

  turn_completed: (state, data) => ({
    phase: "completed",
    threadId: data.thread_id ?? state.threadId,
    turnId: data.turn_id ?? state.turnId,
    agent: data.agent ?? state.agent,
    text: data.content ?? state.text,
    citations: data.citations ?? [],
    decisions: data.guardrail_decisions ?? [],
    cost: data.cost ?? null,
    finishReason: data.finish_reason ?? null,
    humanWaitMs: data.human_wait_ms ?? null,
    lacksSignIn: data.finish_reason === "sign_in_required",
    marks: data.finish_reason === "cancelled" ? stopped(state.marks) : without(without(state.marks, "running"), "waiting"),
    taken: [...new Set([...state.taken, ...edgesInto(state, "__end__")])],
    review: null,
    pauses: [],
    error: null,
    attempt: 0,
  }),

  error: (state, data) => ({
    phase: "failed",
    error: { code: data.code, message: data.message, retryable: data.retryable === true, id: data.error_id },
    marks: withState(state.marks, "running", "failed"),
    review: null,
    pauses: [],
    attempt: 0,
  }),

  page_sent: () => ({ phase: "sending", error: null }),

  page_reconnecting: (_state, { attempt }) => ({ phase: "reconnecting", attempt }),

  page_lost: (state) => ({ phase: "lost", marks: without(state.marks, "running") }),

  // A refused question never became a turn; a refused decision leaves the turn waiting.
  page_refused: (state, { error }) => ({
    phase: state.review || state.pauses.length > 0 ? "paused" : "refused",
    error,
  }),

  // A draft was never approved, so it is not left standing as an answer.
  page_passed_over: (state) => ({
    phase: "completed",
    finishReason: "passed_over",
    ...(state.review ? { text: "", citations: [] } : {}),
    review: null,
    pauses: [],
    error: null,
  }),

  // The conversation went on without the sign-in.
  page_outlived: () => ({ lacksSignIn: false }),

  page_left: (state) => ({ phase: "completed", finishReason: "cancelled", marks: stopped(state.marks) }),

  // How a turn of the review queue came to its pause, as its events told it to another state.
  page_lit: (state, { graph, marks, taken, agent, model }) => ({ graph, marks, taken, agent, model }),

  page_unlit: () => ({ isGraphHidden: true }),
};

const heard = () => ({ phase: "streaming", attempt: 0 });

const withState = (marks, from, to) =>
  Object.fromEntries(
    Object.entries(marks).map(([id, mark]) => [id, mark.state === from ? { ...mark, state: to } : mark]),
  );

// Somebody stopped the turn in the middle of these; nothing was wrong with them.
const stopped = (marks) =>
  ["running", "waiting", "failed"].reduce((changed, state) => withState(changed, state, "stopped"), marks);

const without = (marks, state) =>
  Object.fromEntries(Object.entries(marks).filter(([, mark]) => mark.state !== state));

// The order of the marks is the order in which nodes ended: `edgesInto` asks for the latest.
const moveToEnd = (marks, node, mark) => {
  const { [node]: _old, ...others } = marks;
  return { ...others, [node]: mark };
};

function waiting(state) {
  if (Object.values(state.marks).some((mark) => mark.state === "running")) {
    return withState(state.marks, "running", "waiting");
  }
  const asks = (state.graph?.nodes ?? []).filter((node) => node.kind === "review" && !state.marks[node.id]);
  return { ...state.marks, ...Object.fromEntries(asks.map((node) => [node.id, { state: "waiting" }])) };
}

export const edgeKey = (edge) => `${edge.source} → ${edge.target}`;

// The wire names nodes, not edges. The run came over every plain edge whose source is done, and
// over the one conditional edge whose source ended last.
function edgesInto(state, target) {
  const ended = ["__start__", ...Object.keys(state.marks).filter((id) => state.marks[id].state === "done")];
  const edges = (state.graph?.edges ?? []).filter((edge) => edge.target === target && ended.includes(edge.source));
  const plain = edges.filter((edge) => !edge.conditional);
  const [latest] = edges
    .filter((edge) => edge.conditional)
    .sort((a, b) => ended.indexOf(b.source) - ended.indexOf(a.source));
  const isNewest = latest && plain.every((edge) => ended.indexOf(latest.source) > ended.indexOf(edge.source));
  return [...plain, ...(isNewest ? [latest] : [])].map(edgeKey);
}
