import { Cut } from "./connection.js";
import { Disconnected, Refused } from "./errors.js";
import type { Ending } from "./turn.js";
import { backOff } from "./waiting.js";

/** What the next request is: the question, the events after those heard, an answer to a pause. */
export type Step = "ask" | "attach" | "answer";

/** What is known when a request has failed. */
export interface Standing {
  /** Whether `message.started` was heard, so that the turn has a name. */
  isNamed: boolean;
  /** Whether a session is sent; an anonymous turn can be joined by its question only. */
  isMember: boolean;
  /** Whether the question is known: not where a turn was attached to by its name. */
  hasQuestion: boolean;
}

const MOST_RESTARTS = 10;
/** Seconds; a server that asks for a longer wait is a refusal at once. */
const LONGEST_WAIT = 30;
/** The server is not there for now; who says 503 has done nothing, and the others may have. */
const AWAY: readonly number[] = [502, 503, 504];
/** What the second of two equal answers to a pause is told. */
const TAKEN: readonly string[] = ["confirmation_unavailable", "resume_unavailable", "already_decided"];

/** Decides how one telling of a turn goes on after what went wrong. */
export class Retries {
  /** Failures in a row; who hears something new sets it to 0. */
  failures = 0;
  step: Step;
  readonly #attempts: number;
  #isFirst = true;
  #joins = false;
  #restarts = 0;
  #rereads = false;
  /** An answer to a pause that was refused when it was sent again. */
  #refused: Refused | undefined;

  constructor(attempts: number, step: Step) {
    this.#attempts = attempts;
    this.step = step;
  }

  /** Note that something new came. */
  heard(): void {
    this.failures = 0;
    this.#refused = undefined;
  }

  /** Note how the turn stands at its stream's end. Throws the refusal of an answer that did not arrive. */
  close(ending: Ending | undefined): void {
    if (this.#refused !== undefined && ending?.kind === "paused") throw this.#refused;
  }

  /** Whether the stream's `error` means that the turn is to be told again from its beginning. */
  retells(code: string): code is "answer_replaced" | "stream_interrupted" {
    if (code === "answer_replaced") return (this.#restarts += 1) <= MOST_RESTARTS;
    // Told again once: the turn may run on, and what was never stored is not to stay on the screen.
    if (code !== "stream_interrupted" || this.#rereads) return false;
    return (this.#rereads = true);
  }

  /** Set the step with which to follow a turn that has begun. */
  follow(standing: Standing): void {
    this.#isFirst = false;
    this.step = !standing.isNamed || this.#joins ? "ask" : "attach";
  }

  /**
   * Set the next step after a failure; return milliseconds to wait before it, and whether the
   * turn has to be told from its beginning. Throws the failure where trying again is no use.
   */
  after(failure: unknown, standing: Standing): { wait: number; fromBeginning: boolean } {
    if (failure instanceof Refused && this.#turns(failure, standing)) {
      return { wait: 0, fromBeginning: true };
    }
    if (!this.#isWorthIt(failure)) throw failure;
    const unanswered = this.step === "answer" && !(failure instanceof Cut && failure.begun);
    this.#isFirst = false;
    if (!unanswered) this.follow(standing);
    this.failures += 1;
    if (this.failures >= this.#attempts) {
      if (failure instanceof Refused) throw failure;
      const message = `The turn could not be followed: ${failure.message} (${this.failures} times)`;
      throw new Disconnected(message, { cause: failure });
    }
    const asked = (failure instanceof Refused && failure.retryAfter) || 0;
    const wait = asked * 1000 + backOff(this.failures, Math.random());
    return { wait, fromBeginning: false };
  }

  /** Whether the refusal says that another step is the right one. */
  #turns(refused: Refused, { isMember, hasQuestion }: Standing): boolean {
    const { status, code } = refused;
    if (this.step === "answer" && TAKEN.includes(code) && !this.#isFirst) {
      this.step = "attach"; // the answer that was cut has arrived, as the turn will tell
      this.#refused = refused;
      return true;
    }
    if (this.step !== "attach") return false;
    if (code === "not_found" && !isMember && hasQuestion) {
      this.#joins = true;
      this.step = "ask";
      return true;
    }
    if (status !== 422 || this.#rereads) return false;
    return (this.#rereads = true); // a crash took events that were heard
  }

  #isWorthIt(failure: unknown): failure is Cut | Refused {
    if (failure instanceof Cut) return true;
    if (!(failure instanceof Refused)) return false;
    const { status, retryAfter = 0 } = failure;
    return (AWAY.includes(status) || (status === 429 && retryAfter > 0)) && retryAfter <= LONGEST_WAIT;
  }
}
