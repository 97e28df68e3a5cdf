import { Disconnected, refusal, TurnwireError } from "./errors.js";
import type { JsonValue } from "./events.js";
import { EventStreamParser } from "./sse.js";
import type { ServerSentEvent } from "./sse.js";

export interface Options {
  /** Where turnwire is, or your own server that passes requests on to it. */
  url: string;
  /** An API key. It stays on your server: a page calls your server, which adds it. */
  key?: string;
  /** A member's session; without it the turn is anonymous. */
  session?: string;
  /** The server's setting `session_header`. */
  sessionHeader?: string;
  /** More headers for each request. */
  headers?: Record<string, string>;
  /** What asks, where it is not the global `fetch`. */
  fetch?: typeof fetch;
  /** The server's setting `heartbeat_seconds`; a stream silent for three of them is cut. */
  heartbeatSeconds?: number;
  /** How often in a row the client may fail to get on before it gives up. */
  attempts?: number;
}

/** A request. */
export interface Call {
  method: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** One connection broke, or was never there. */
export class Cut extends Disconnected {
  /** Whether the answer had begun. */
  readonly begun: boolean;

  constructor(message: string, begun: boolean, cause?: unknown) {
    super(message, { cause });
    this.begun = begun;
  }
}

const HEARTBEAT_SECONDS = 15;
const SILENT_HEARTBEATS = 3;

/** Sends requests to one server as one caller. */
export class Connection {
  readonly isMember: boolean;
  readonly #base: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;
  readonly #silence: number;

  constructor(options: Options) {
    this.#base = base(options.url);
    this.isMember = options.session !== undefined;
    this.#headers = {
      ...(options.key !== undefined && { Authorization: `Bearer ${options.key}` }),
      ...(options.session !== undefined && {
        [options.sessionHeader ?? "X-Turnwire-Session"]: options.session,
      }),
      ...options.headers,
    };
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#silence = (options.heartbeatSeconds ?? HEARTBEAT_SECONDS) * SILENT_HEARTBEATS * 1000;
  }

  /**
   * Yield the events of a stream to its end, whether that is a good one or not.
   *
   * Throws `Refused`, `Cut`, or the signal's reason.
   */
  async *stream(call: Call, signal?: AbortSignal): AsyncGenerator<ServerSentEvent> {
    const request = new Watched(this.#silence, signal);
    try {
      const response = await this.#send(call, "text/event-stream", request);
      const reader = events(response, call).getReader();
      const parser = new EventStreamParser();
      for (;;) {
        const { done, value } = await request.wait(reader.read(), true);
        if (done) return;
        yield* parser.feed(value);
      }
    } finally {
      request.close();
    }
  }

  /** Return what a request is answered. Throws as `stream` does. */
  async json(call: Call, signal?: AbortSignal): Promise<JsonValue> {
    const request = new Watched(this.#silence, signal);
    try {
      const response = await this.#send(call, "application/json", request);
      return (await request.wait(response.json(), true)) as JsonValue;
    } finally {
      request.close();
    }
  }

  async #send(call: Call, accept: string, request: Watched): Promise<Response> {
    const headers: Record<string, string> = { ...this.#headers, ...call.headers, Accept: accept };
    if (call.body !== undefined) headers["Content-Type"] = "application/json";
    const response = await request.wait(
      this.#fetch(this.#base + call.path, {
        method: call.method,
        headers,
        cache: "no-store",
        signal: request.signal,
        ...(call.body !== undefined && { body: call.body }),
      }),
      false,
    );
    if (!response.ok) throw await request.wait(refusal(response), true);
    return response;
  }
}

/** A request that is given up when nothing of it comes for too long, or when its signal says so. */
class Watched {
  readonly #controller = new AbortController();
  readonly #silence: number;
  readonly #given: AbortSignal | undefined;
  readonly #stop = (): void => this.#controller.abort();

  constructor(silence: number, given: AbortSignal | undefined) {
    this.#silence = silence;
    this.#given = given;
    given?.throwIfAborted();
    given?.addEventListener("abort", this.#stop);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async wait<T>(coming: Promise<T>, begun: boolean): Promise<T> {
    const timer = setTimeout(this.#stop, this.#silence);
    try {
      return await coming;
    } catch (error) {
      this.#given?.throwIfAborted();
      const silent = this.#controller.signal.aborted;
      const seconds = this.#silence / 1000;
      throw new Cut(silent ? `nothing came for ${seconds} s` : "the connection broke", begun, error);
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#given?.removeEventListener("abort", this.#stop);
    this.#controller.abort();
  }
}

function base(url: string): string {
  const page = (globalThis as { location?: { href: string } }).location?.href;
  try {
    return new URL(url, page).href.replace(/\/+$/, "");
  } catch {
    throw new TurnwireError(`The url ${JSON.stringify(url)} is none; give one with its scheme.`);
  }
}

function events(response: Response, call: Call): ReadableStream<Uint8Array> {
  const type = response.headers.get("Content-Type") ?? "nothing";
  if (response.body === null || !type.startsWith("text/event-stream")) {
    throw new TurnwireError(
      `${call.path} answered ${type} and no event stream; does the url lead to turnwire?`,
    );
  }
  return response.body;
}
