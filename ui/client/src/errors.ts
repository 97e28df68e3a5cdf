import type { JsonValue } from "./events.js";

/** The base of what this client throws itself. An abort throws the signal's own reason. */
export class TurnwireError extends Error {
  override name = "TurnwireError";
}

export interface Refusal {
  status: number;
  code: string;
  message: string;
  retryable: boolean;
  /** Seconds, from `Retry-After`. */
  retryAfter?: number;
  /** Where the request's shape is wrong: paths and reasons. */
  details?: JsonValue;
  /** By which the operators find the request. */
  requestId?: string;
}

/** The server, or something before it, refused a request: nothing of it has happened. */
export class Refused extends TurnwireError {
  override name = "Refused";
  readonly status: number;
  /** See docs/reference/errors.md; `http_<status>` where the answer is not turnwire's. */
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfter: number | undefined;
  readonly details: JsonValue | undefined;
  readonly requestId: string | undefined;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.status = refusal.status;
    this.code = refusal.code;
    this.retryable = refusal.retryable;
    this.retryAfter = refusal.retryAfter;
    this.details = refusal.details;
    this.requestId = refusal.requestId;
  }
}

/** The stream was cut, and attaching again did not help: nobody knows how the turn ended. */
export class Disconnected extends TurnwireError {
  override name = "Disconnected";
}

const TRY_AGAIN: readonly number[] = [408, 429, 502, 503, 504];

/** Return what an answer that is no success says. */
export async function refusal(response: Response): Promise<Refused> {
  const { status, headers } = response;
  const said = envelope(await response.text().catch(() => ""));
  const seconds = Number(headers.get("Retry-After") ?? NaN);
  const requestId = text(said["request_id"]) ?? headers.get("X-Request-ID");
  return new Refused({
    status,
    code: text(said["code"]) ?? `http_${status}`,
    message: text(said["message"]) ?? `The answer was HTTP ${status}.`,
    retryable: said["code"] === undefined ? TRY_AGAIN.includes(status) : said["retryable"] === true,
    ...(Number.isFinite(seconds) && { retryAfter: seconds }),
    ...(said["details"] !== undefined && { details: said["details"] }),
    ...(requestId !== null && { requestId }),
  });
}

function envelope(body: string): { [name: string]: JsonValue } {
  try {
    const said = (JSON.parse(body) as { error?: unknown } | null)?.error;
    return typeof said === "object" && said !== null ? (said as { [name: string]: JsonValue }) : {};
  } catch {
    return {};
  }
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
