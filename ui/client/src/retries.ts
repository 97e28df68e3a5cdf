import { Cut } from "./connection.js";
import { Disconnected, Refused } from "./errors.js";
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
const LONGEST_WAIT = 60_000;

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

  constructor(attempts: number, step: Step) {
    this.#attempts = attempts;
    this.step = step;
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
      const message = `The turn could not be followed: ${failure.message} (${this.failures} times)`;
      throw new Disconnected(message, { cause: failure });
    }
    const asked = (failure instanceof Refused && failure.retryAfter) || 0;
    const wait = Math.max(backOff(this.failures, Math.random()), asked * 1000);
    return { wait, fromBeginning: false };
  }

  /** Whether the refusal says that another step is the right one. */
  #turns({ status, code }: Refused, { isMember, hasQuestion }: Standing): boolean {
    if (this.step === "answer" && status === 403 && !this.#isFirst) {
      this.step = "attach"; // the answer that was cut has arrived
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
    if (!(failure instanceof Refused) || !failure.retryable) return false;
    if ((failure.retryAfter ?? 0) * 1000 > LONGEST_WAIT) return false;
    // What turnwire refuses at first is the caller's to hear; later it is a server that restarts.
    return !this.#isFirst || failure.code.startsWith("http_");
  }
}
