import type { AnswerEvent } from "./events.js";
import { closes } from "./turn.js";
import type { TurnEvent, Unknown } from "./turn.js";

/** An event as it was told. */
export type Told = AnswerEvent | Unknown;

/**
 * What of a turn was heard, so that nothing is said twice after the stream was cut.
 *
 * Several events may share an id: those that say one fact carry the id before it, all but the
 * last, and who was cut among them is told all of them again.
 */
export class Heard {
  /** The `Last-Event-ID` to attach again with; empty before the first event. */
  lastId = "";
  #text = "";
  #lastWords = 0;
  readonly #others = new Set<string>();
  /** What was told again so far, where the stream began at the turn's beginning. */
  #again: Told[] | undefined;

  /** The next stream tells the turn from its beginning. */
  fromBeginning(): void {
    this.#again = this.lastId === "" ? undefined : [];
  }

  /** Begin another stream; return after which id, empty for the turn's beginning. */
  resume(): string {
    if (this.#again === undefined) return this.lastId;
    this.#again = [];
    return "";
  }

  /** Forget all that was said. */
  forget(): void {
    this.lastId = "";
    this.#text = "";
    this.#lastWords = 0;
    this.#others.clear();
    this.#again = undefined;
  }

  /** Return what is new in this, in order. */
  take(told: Told): TurnEvent[] {
    if (this.#again === undefined) return this.#isNew(told) ? [told] : [];
    if (!closes(told) && seq(told.id) <= seq(this.lastId)) {
      this.#again.push(told);
      return [];
    }
    const all = [...this.#again, told];
    this.#again = undefined;
    return this.#caughtUp(all);
  }

  /** What is told again has to begin with the words that were heard; else it is all new. */
  #caughtUp(all: Told[]): TurnEvent[] {
    const last = this.#lastWords;
    const words = all.filter((each) => each.event === "token.delta" && seq(each.id) <= last);
    const text = words.map((each) => (each.event === "token.delta" ? each.data.text : "")).join("");
    if (text === this.#text) return all.filter((each) => this.#isNew(each));
    const id = this.lastId;
    this.forget();
    const restarted: TurnEvent = {
      id,
      event: "client.restarted",
      data: { reason: "stream_interrupted" },
    };
    return [restarted, ...all.filter((each) => this.#isNew(each))];
  }

  #isNew(told: Told): boolean {
    if (told.event === "token.delta") {
      if (seq(told.id) <= this.#lastWords) return false;
      this.#lastWords = seq(told.id);
      this.#text += told.data.text;
    } else if (!closes(told)) {
      // Each stream opens the message anew, under the id of its run's first event.
      const id = told.event === "message.started" ? "" : told.id;
      const name = `${id} ${told.event} ${JSON.stringify(told.data)}`;
      if (this.#others.has(name)) return false;
      this.#others.add(name);
    }
    if (told.id !== "" && seq(told.id) >= seq(this.lastId)) this.lastId = told.id;
    return true;
  }
}

/** Return the number in `<turn_id>.<seq>`; an event without an id is before all others. */
function seq(id: string): number {
  const number = Number(id.slice(id.lastIndexOf(".") + 1));
  return id === "" || !Number.isFinite(number) ? 0 : number;
}
