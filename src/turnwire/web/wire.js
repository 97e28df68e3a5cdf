// turnwire's HTTP calls, and how to follow a turn to its end across broken connections.

import { EventStreamDecoder } from "./sse.js";
import { isTerminator } from "./turn.js";

/** Waits before the five attempts to re-attach, in milliseconds. */
export const BACKOFF_MS = [500, 1000, 2000, 4000, 8000];

// The server sends a comment every 15 s; three missed ones mean that nobody is there.
const SILENCE_MS = 50_000;

/** The server said no before the stream began; carries the envelope's facts. */
export class Refused extends Error {
  constructor(status, envelope, retryAfter) {
    super(envelope.message ?? `HTTP ${status}`);
    this.status = status;
    this.code = envelope.code ?? "";
    this.retryable = envelope.retryable === true;
    this.requestId = envelope.request_id ?? null;
    this.details = envelope.details ?? null;
    this.retryAfter = retryAfter;
  }
}

/** The stream broke, and no attempt to re-attach got through. */
export class Lost extends Error {}

/**
 * The calls of one server; paths are relative to `base`.
 *
 * Who reads the page asks as a member, whose session is sent in `header`, and decides reviews as
 * the server's operator. `kept` remembers the session: `recall()` and `remember(id)`.
 */
export function connect({ base, header = "X-Turnwire-Session", kept, fetch = globalThis.fetch.bind(globalThis) }) {
  let session = null;
  const send = async (path, { method = "GET", body, headers = {}, accept = "application/json", signal } = {}) => {
    const response = await fetch(new URL(path, base), {
      method,
      headers: { Accept: accept, ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
      body: body ? JSON.stringify(body) : undefined,
      credentials: "same-origin",
      cache: "no-store",
      signal,
    });
    if (!response.ok) throw await refusal(response);
    return response;
  };
  const mint = async () => {
    const { session_id: minted } = await (await send("auth/session", { method: "POST" })).json();
    kept?.remember(minted);
    return minted;
  };
  // One member, however many calls want one at once.
  const member = () => {
    session ??= Promise.resolve(kept?.recall() || mint()).catch((error) => {
      session = null;
      throw error;
    });
    return session;
  };
  const asMember = async (path, options, { isAgain = false } = {}) => {
    const mine = await member();
    try {
      return await send(path, { ...options, headers: { ...options.headers, [header]: mine } });
    } catch (error) {
      const isGone = error instanceof Refused && error.code === "session_required";
      if (!isGone || isAgain) throw error;
      if ((await session) === mine) {
        kept?.remember("");
        session = null;
      }
      return asMember(path, options, { isAgain: true });
    }
  };
  const call = (path, { as, ...options } = {}) => (as === "member" ? asMember(path, options) : send(path, options));
  const json = async (path, options) => (await call(path, options)).json();
  const stream = (path, options) => call(path, { accept: "text/event-stream", as: "member", ...options });
  const post = (path, body) => json(path, { method: "POST", body, as: "member" });
  const id = encodeURIComponent;

  return {
    agents: () => json("agents"),
    reviews: () => json("reviews"),
    conversation: (conversation) => json(`conversations/${id(conversation)}`, { as: "member" }),
    cancel: (conversation) => call(`conversations/${id(conversation)}/cancel`, { method: "POST", as: "member" }),
    login: (mobile) => post("auth/login", { mobile }),
    verify: (mobile, code) => post("auth/verify", { mobile, code }),
    logout: () => post("auth/logout"),
    isSignedIn: async () => Boolean(kept?.recall()) && (await json("auth/session", { as: "member" })).signed_in === true,
    // The same key again joins the turn that the first request started: a retry asks once.
    ask: (body, { key, signal }) =>
      stream("chat?tokens=true", { method: "POST", body, headers: { "Idempotency-Key": key }, signal }),
    resume: (body, { as, signal }) => stream("chat/resume?tokens=true", { method: "POST", body, as, signal }),
    confirm: (body, { signal }) => stream("chat/confirm", { method: "POST", body, signal }),
    attach: (conversation, turn, { as, lastEventId, signal }) =>
      stream(`conversations/${id(conversation)}/turns/${id(turn)}/events?wire=execution&tokens=true`, {
        as,
        headers: lastEventId ? { "Last-Event-ID": lastEventId } : {},
        signal,
      }),
  };
}

async function refusal(response) {
  const seconds = Number(response.headers.get("Retry-After") ?? "");
  const body = await response.json().catch(() => ({}));
  return new Refused(response.status, body?.error ?? {}, seconds > 0 ? seconds : null);
}

/**
 * Read a turn to its end and hand every event to `onEvent(type, data, id)`.
 *
 * `open()` makes the first request; `reattach(lastEventId)` every later one, after a wait that
 * grows; five in a row without a single event, and this throws `Lost`. What `open()` throws is
 * passed on, as is a later `Refused` that no waiting will change.
 */
export async function follow({ open, reattach, onEvent, onRetry, lastEventId = "", signal, sleep = wait }) {
  const seen = { lastEventId, ended: false, progress: false };
  let response = await open();
  for (let attempt = 0; ; ) {
    seen.progress = false;
    try {
      response ??= await reattach(seen.lastEventId);
      await readOnce(response, seen, onEvent, signal);
      if (seen.ended) return;
    } catch (error) {
      if (signal?.aborted || (error instanceof Refused && !isPassing(error))) throw error;
    }
    signal?.throwIfAborted();
    response = null;
    attempt = seen.progress ? 1 : attempt + 1;
    if (attempt > BACKOFF_MS.length) throw new Lost();
    onRetry(attempt);
    await sleep(BACKOFF_MS[attempt - 1], signal);
  }
}

const isPassing = (refused) => refused.retryable || refused.status === 429 || refused.status >= 500;

async function readOnce(response, seen, onEvent, signal) {
  const decoder = new EventStreamDecoder();
  const from = sequence(seen.lastEventId);
  for await (const chunk of chunks(response.body, signal)) {
    for (const message of decoder.push(chunk)) {
      // A replay may start early; what was shown is not shown again.
      if (message.id && sequence(message.id) <= from) continue;
      const data = JSON.parse(message.data);
      if (message.id) seen.lastEventId = message.id;
      seen.progress = true;
      seen.ended = message.event === "paused" || isTerminator(message.event);
      onEvent(message.event, data, message.id);
      if (isTerminator(message.event)) return;
    }
  }
}

/** The number in `<turn_id>.<seq>`; 0 where there is none. */
export const sequence = (id) => Number(/\.([0-9]+)$/.exec(id)?.[1] ?? 0);

async function* chunks(body, signal) {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await withinSilence(reader.read());
      if (done || signal?.aborted) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function withinSilence(reading) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("silence")), SILENCE_MS);
    reading.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function wait(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
