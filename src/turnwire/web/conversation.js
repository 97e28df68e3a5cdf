// The conversation that is shown: its turns, and the one stream that is open at a time. No DOM.

import { forget, recall, remember } from "./memory.js";
import { isLive, newTurn, reduce, turnFromHistory, turnFromReview } from "./turn.js";
import { follow, Lost, Refused } from "./wire.js";

/** `onChange(entry)` is told of every change to a turn; entries are `{key, turn, isForeign, …}`. */
export class Conversation {
  entries = [];
  #client;
  #onChange;
  #open = null;
  #keys = 0;
  #conversationId = null;

  constructor({ client, onChange }) {
    this.#client = client;
    this.#onChange = onChange;
  }

  /** The turn that the graph shows: the one that moved last. */
  current = null;

  get isBusy() {
    return this.#open !== null && isLive(this.#open.entry.turn);
  }

  /** Ask; the answer arrives through `onChange`. `agent` may be null. */
  async ask(question, { locale, agent }) {
    const entry = this.#add(newTurn({ question, locale }));
    entry.asking = { locale, agent, key: randomKey(), threadId: this.#conversationId };
    await this.#send(entry);
  }

  /** Ask the same again, where the question itself was refused or failed. */
  async askAgain(entry) {
    // Refused while re-attaching: the turn exists, and asking again would ask twice.
    if (entry.turn.phase === "refused" && entry.turn.turnId) return this.reconnect(entry);
    const asking = entry.asking ?? { locale: entry.turn.locale ?? "en", agent: entry.turn.agent };
    // After a failure it is a new request; a refused one never began, and keeps its key.
    const key = entry.turn.phase === "refused" && asking.key ? asking.key : randomKey();
    entry.asking = { ...asking, key, threadId: this.#conversationId };
    entry.turn = newTurn({ question: entry.turn.question, locale: asking.locale });
    entry.lastEventId = "";
    await this.#send(entry);
  }

  #send(entry) {
    this.#apply(entry, "page_sent");
    return this.#follow(entry, (signal) => this.#post(entry, signal));
  }

  #post(entry, signal) {
    const { locale, agent, key, threadId } = entry.asking;
    const body = { messages: [{ role: "user", content: entry.turn.question }], locale };
    if (threadId) body.thread_id = threadId;
    if (agent) body.agent = agent;
    return this.#client.ask(body, { key, signal });
  }

  /** Decide about a draft: `decision` is `approve`, `edit` (with the text) or `reject`. */
  decide(entry, decision, editedText) {
    // The draft that was read, so that a newer one is never decided by this click.
    const body = { thread_id: entry.turn.threadId, review_id: entry.turn.review?.review_id, decision };
    if (editedText !== undefined) body.edited_text = editedText;
    return this.#follow(entry, (signal) => this.#client.resume(body, { as: "operator", signal }));
  }

  /** Answer a confirmation: `decision` is `approve`, or `reject` with what should be different. */
  confirm(entry, pause, decision, feedback) {
    const body = { conversation_id: entry.turn.threadId, confirmation_id: pause.pause_id, decision };
    if (feedback) body.feedback = feedback;
    return this.#answer(entry, (signal) => this.#client.confirm(body, { signal }));
  }

  /** Go on after the sign-in for which the turn waits, or ask again where it ended for want of one. */
  signedIn(entry) {
    if (entry.turn.phase !== "paused") return this.askAgain(entry);
    const body = { conversation_id: entry.turn.threadId };
    return this.#answer(entry, (signal) => this.#client.resume(body, { as: "member", signal }));
  }

  // Members' answers are told on the members' wire; the page listens on its own before it leaves that.
  #answer(entry, send) {
    return this.#follow(entry, async (signal) => {
      const said = await send(signal);
      try {
        return await this.#reattach(entry, entry.lastEventId, signal);
      } finally {
        void said.body?.cancel();
      }
    });
  }

  /** Answer the pauses: `{pause_id: value}`. */
  reply(entry, answers) {
    const body = { thread_id: entry.turn.threadId, answers };
    return this.#follow(entry, (signal) => this.#client.resume(body, { as: "member", signal }));
  }

  reconnect(entry) {
    this.#apply(entry, "page_reconnecting", { attempt: 1 });
    return this.#follow(entry, (signal) => this.#reattach(entry, entry.lastEventId, signal));
  }

  /** Stop what runs. The server ends the turn; the stream then tells how. */
  async stop() {
    const open = this.#open;
    if (!open) return;
    const { threadId } = open.entry.turn;
    if (threadId) {
      await this.#client.cancel(threadId);
      return;
    }
    this.#leave();
    this.#apply(open.entry, "page_left");
  }

  /** Start afresh; what runs goes on at the server. */
  reset() {
    this.#leave();
    this.entries = [];
    this.current = null;
    this.#conversationId = null;
    forget();
  }

  /** Show a turn of the review queue, or the one of this conversation if it is that. */
  openReview(review) {
    const here = this.entries.find(
      ({ turn }) => turn.review?.review_id === review.review_id && turn.phase === "paused",
    );
    if (here) {
      this.current = here;
      return here;
    }
    const entry = this.#add(turnFromReview(review), { isForeign: review.thread_id !== this.#conversationId });
    void this.#light(entry);
    return entry;
  }

  // Beside what else is open: the events say which way the turn took to its pause.
  async #light(entry) {
    const { threadId, turnId, question } = entry.turn;
    let told = newTurn({ question, threadId, turnId });
    let last = "";
    try {
      if (!turnId) throw new Lost();
      await follow({
        open: () => this.#client.attach(threadId, turnId, { as: "operator" }),
        reattach: (lastEventId) => this.#client.attach(threadId, turnId, { as: "operator", lastEventId }),
        onRetry: () => {},
        onEvent: (type, data, id) => {
          told = reduce(told, type, data);
          last = id;
        },
      });
    } catch {
      told = null;
    }
    // Meanwhile it may have been decided here: its own events are newer.
    if (entry.turn.phase !== "paused" || entry.lastEventId) return;
    if (told?.phase === "paused") entry.lastEventId = last;
    entry.turn = told?.graph ? reduce(entry.turn, "page_lit", told) : reduce(entry.turn, "page_unlit");
    this.#onChange(entry);
  }

  /** After a reload: the history, and the last turn with its graph, live if it still runs. */
  async restore() {
    const kept = recall();
    if (!kept) return;
    this.#conversationId = kept.conversationId;
    let told;
    try {
      told = await this.#client.conversation(kept.conversationId);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      this.reset();
      return;
    }
    for (const turn of told.turns) this.#add(turnFromHistory(kept.conversationId, turn));
    let last = this.entries.at(-1);
    if (kept.turnId && !told.turns.some((turn) => turn.turn_id === kept.turnId)) {
      last = this.#add(newTurn({ question: kept.question, threadId: kept.conversationId, turnId: kept.turnId }));
    }
    if (last) await this.#replay(last);
  }

  async #replay(entry) {
    const { question, threadId, turnId } = entry.turn;
    const before = entry.turn;
    entry.turn = newTurn({ question, threadId, turnId, text: before.text, phase: "sending" });
    await this.#follow(entry, (signal) => this.#client.attach(threadId, turnId, { signal }));
    // The history has the answer even where its events are gone.
    const isGone = entry.turn.phase === "refused" && before.phase !== "idle";
    if (isGone) this.#set(entry, before);
  }

  #add(turn, more = {}) {
    const entry = { key: `turn-${(this.#keys += 1)}`, turn, lastEventId: "", isForeign: false, ...more };
    this.entries.push(entry);
    this.#set(entry, turn);
    return entry;
  }

  #apply(entry, type, data) {
    this.#set(entry, reduce(entry.turn, type, data));
  }

  #set(entry, turn) {
    entry.turn = turn;
    this.current = entry;
    if (!entry.isForeign && turn.threadId) {
      this.#conversationId = turn.threadId;
      remember({ conversationId: turn.threadId, turnId: turn.turnId, question: turn.question });
    }
    this.#onChange(entry);
  }

  // A new turn drops the pause of an earlier one in the same conversation.
  #passOver(entry) {
    for (const other of this.entries) {
      if (other === entry || other.isForeign) continue;
      if (other.turn.phase === "paused") this.#apply(other, "page_passed_over");
      else if (other.turn.lacksSignIn) this.#apply(other, "page_outlived");
    }
  }

  #leave() {
    this.#open?.abort.abort();
    this.#open = null;
  }

  async #follow(entry, first) {
    this.#leave();
    const open = { entry, abort: new AbortController() };
    this.#open = open;
    const { signal } = open.abort;
    try {
      await follow({
        signal,
        lastEventId: entry.lastEventId,
        open: () => first(signal),
        reattach: (lastEventId) => this.#reattach(entry, lastEventId, signal),
        onRetry: (attempt) => this.#apply(entry, "page_reconnecting", { attempt }),
        onEvent: (type, data, id) => {
          if (signal.aborted) return;
          if (type === "graph_topology" && !data.resumed) this.#passOver(entry);
          entry.lastEventId = id;
          this.#apply(entry, type, data);
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Lost) this.#apply(entry, "page_lost");
      else this.#apply(entry, "page_refused", { error: facts(error) });
    } finally {
      if (this.#open === open) this.#open = null;
      this.#onChange(entry);
    }
  }

  // A turn that has not named itself yet is joined by asking again under the same key.
  #reattach(entry, lastEventId, signal) {
    const { threadId, turnId } = entry.turn;
    const as = entry.isForeign ? "operator" : "member";
    if (threadId && turnId) return this.#client.attach(threadId, turnId, { as, lastEventId, signal });
    if (!entry.asking) throw new Lost();
    return this.#post(entry, signal);
  }
}

/** An error as the turn keeps it; a request that never got an answer has the code `unreachable`. */
export const facts = (error) =>
  error instanceof Refused
    ? {
        status: error.status,
        code: error.code,
        message: error.message,
        retryable: error.retryable,
        retryAfter: error.retryAfter,
        details: error.details,
      }
    : { code: "unreachable", message: "", retryable: true };

// crypto.randomUUID exists in secure contexts only, and a first try may well be plain HTTP in a LAN.
const randomKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
