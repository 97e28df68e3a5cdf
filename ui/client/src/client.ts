import { Connection } from "./connection.js";
import type { Call, Options } from "./connection.js";
import { Turn } from "./telling.js";
import type { Made } from "./telling.js";

export interface Ask {
  /** The conversation to go on with; without it the server begins one. */
  conversationId?: string;
  agent?: string;
  /** Hints, which never give a right. */
  hints?: { locale?: string; timezone?: string; rerank?: boolean };
  /** Under which the same question is asked once only; by default a new one. */
  idempotencyKey?: string;
  /** Leaves the turn; the server stops it a little later. */
  signal?: AbortSignal;
}

export interface Session {
  session_id: string;
  expires_at: string;
  signed_in: boolean;
}

export interface Signed {
  signed_in: boolean;
  /** When that ends by itself: the sign-in, or else the session. */
  expires_at: string;
}

/** Asks one turnwire server. */
export class Turnwire {
  readonly #connection: Connection;
  readonly #attempts: number;

  constructor(options: Options) {
    this.#connection = new Connection(options);
    this.#attempts = options.attempts ?? 6;
  }

  /** Return a turn that begins when it is iterated. */
  ask(message: string, { signal, idempotencyKey, ...more }: Ask = {}): Turn {
    const body = JSON.stringify({
      message,
      ...(more.conversationId !== undefined && { conversation_id: more.conversationId }),
      ...(more.agent !== undefined && { agent: more.agent }),
      ...(more.hints !== undefined && { client: more.hints }),
    });
    const question = { body, ...(idempotencyKey !== undefined && { key: idempotencyKey }) };
    return this.#turn({ question }, signal);
  }

  /** Return a turn that was begun before, perhaps elsewhere; it is told from its beginning. */
  attach(
    { conversationId, messageId }: { conversationId: string; messageId: string },
    { signal }: { signal?: AbortSignal } = {},
  ): Turn {
    return this.#turn({ known: { id: messageId, conversationId } }, signal);
  }

  /** Mint a session for a member; for your server, which has the API key. */
  async openSession(): Promise<Session> {
    const call: Call = { method: "POST", path: "/auth/session" };
    return (await this.#connection.json(call)) as unknown as Session;
  }

  /**
   * Have a one-time code sent to a member's mobile, given with its country code. The answer is the
   * same whether anybody has the number or not. This and what follows needs a session.
   */
  async login(mobile: string): Promise<{ expires_in: number }> {
    return this.#auth<{ expires_in: number }>("POST", "login", { mobile });
  }

  /** Sign in with the code that was sent; throws `Refused` with `invalid_code` if it is not that. */
  async verify(mobile: string, code: string): Promise<Signed> {
    return this.#auth<Signed>("POST", "verify", { mobile, code });
  }

  /** Sign out; the session stays. */
  async logout(): Promise<Signed> {
    return this.#auth<Signed>("POST", "logout");
  }

  /** Whether the session is signed in, and until when. */
  async signed(): Promise<Signed> {
    return this.#auth<Signed>("GET", "session");
  }

  async #auth<T>(method: "GET" | "POST", name: string, body?: object): Promise<T> {
    const path = `/auth/${name}`;
    const call: Call = { method, path, ...(body && { body: JSON.stringify(body) }) };
    return (await this.#connection.json(call)) as unknown as T;
  }

  #turn(made: Pick<Made, "question" | "known">, signal: AbortSignal | undefined): Turn {
    const attempts = this.#attempts;
    return new Turn(this.#connection, { attempts, ...made, ...(signal && { signal }) });
  }
}
