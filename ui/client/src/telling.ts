import { Cut } from "./connection.js";
import type { Call, Connection } from "./connection.js";
import { Disconnected, TurnwireError } from "./errors.js";
import type { JsonValue } from "./events.js";
import { Heard } from "./heard.js";
import type { Told } from "./heard.js";
import { Retries } from "./retries.js";
import type { Standing, Step } from "./retries.js";
import { closes, NOTHING, reduce, typed } from "./turn.js";
import type { Message, TurnEvent } from "./turn.js";
import { newKey, sleep } from "./waiting.js";

/** A question; sent again, it joins the turn that it began. */
export interface Question {
  body: string;
  key?: string;
}

/** What a turn is made of: a question, or the name of one that was begun. */
export interface Made {
  attempts: number;
  question?: Question;
  known?: { id: string; conversationId: string };
  signal?: AbortSignal;
}

/**
 * One turn. Iterating it tells its events until it ends or waits for a person; a connection that
 * breaks meanwhile is made again.
 *
 * Iterating throws `Refused`, `Disconnected`, or the signal's reason. A turn that failed is no
 * exception: its last event is `error`.
 */
export class Turn implements AsyncIterable<TurnEvent> {
  readonly #connection: Connection;
  readonly #attempts: number;
  readonly #question: Question | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #heard = new Heard();
  #message: Message = NOTHING;
  #isRunning = false;

  constructor(connection: Connection, { attempts, question, known, signal }: Made) {
    this.#connection = connection;
    this.#attempts = attempts;
    this.#question = question && { ...question };
    this.#signal = signal;
    if (known !== undefined) this.#message = { ...NOTHING, ...known };
  }

  /** What there is to show of the turn now. */
  get message(): Message {
    return this.#message;
  }

  /** Tell the turn; again, to hear what has come since. */
  [Symbol.asyncIterator](): AsyncGenerator<TurnEvent> {
    return this.#run(this.#message.id === "" ? "ask" : "attach");
  }

  /** Hear the turn to where it ends or waits, and return what there is to show. */
  async read(): Promise<Message> {
    for await (const _ of this);
    return this.#message;
  }

  /** Answer `action.confirmation_required`, and tell what comes of it. */
  confirm(
    confirmationId: string,
    decision: "approve" | "reject",
    { feedback }: { feedback?: string } = {},
  ): AsyncGenerator<TurnEvent> {
    return this.#run("answer", "/chat/confirm", {
      confirmation_id: confirmationId,
      decision,
      ...(feedback !== undefined && { feedback }),
    });
  }

  /** Go on after the member has signed in, and tell what comes. */
  resume(): AsyncGenerator<TurnEvent> {
    return this.#run("answer", "/chat/resume");
  }

  /**
   * Answer questions of the graph's own, which `ending.questions` has, each by its `pause_id`, and
   * tell what comes. What is left out goes on waiting.
   */
  answer(answers: Record<string, JsonValue>): AsyncGenerator<TurnEvent> {
    return this.#run("answer", "/chat/resume", { answers });
  }

  /** Stop what the member's conversation does; return whether there was anything to stop. */
  async cancel(): Promise<boolean> {
    const path = `/conversations/${encodeURIComponent(this.#conversationId())}/cancel`;
    const said = await this.#connection.json({ method: "POST", path });
    return (said as { cancelled?: unknown }).cancelled === true;
  }

  async *#run(first: Step, path = "", more: object = {}): AsyncGenerator<TurnEvent> {
    if (this.#isRunning) throw new TurnwireError("The turn is being told already.");
    this.#isRunning = true;
    try {
      yield* this.#tell(new Retries(this.#attempts, first), () => this.#answer(path, more));
    } finally {
      this.#isRunning = false;
    }
  }

  async *#tell(retries: Retries, answer: () => Call): AsyncGenerator<TurnEvent> {
    telling: for (;;) {
      const call = retries.step === "answer" ? answer() : await this.#call(retries.step);
      try {
        for await (const said of this.#connection.stream(call, this.#signal)) {
          const told = typed(said);
          if (told.event === "error" && retries.retells(told.data.code)) {
            yield* this.#restart(told.data.code, told.id);
            retries.follow(this.#standing());
            continue telling;
          }
          this.#recognise(told);
          for (const event of this.#heard.take(told)) {
            if (!closes(event)) retries.heard();
            this.#message = reduce(this.#message, event);
            yield event;
          }
          if (closes(told)) return retries.close(this.#message.ending);
        }
        throw new Cut("the stream ended without saying how the turn stands", true);
      } catch (failure) {
        const { wait, fromBeginning } = retries.after(failure, this.#standing());
        if (fromBeginning) this.#heard.fromBeginning();
        await sleep(wait, this.#signal);
      }
    }
  }

  /** Words that were taken back leave the screen at once; else it shows when told again. */
  *#restart(
    reason: "answer_replaced" | "stream_interrupted",
    id: string,
  ): Generator<TurnEvent> {
    if (reason === "stream_interrupted") {
      this.#heard.fromBeginning();
      return;
    }
    this.#heard.forget();
    const event: TurnEvent = { id, event: "client.restarted", data: { reason } };
    this.#message = reduce(this.#message, event);
    yield event;
  }

  #recognise(told: Told): void {
    const { id } = this.#message;
    if (told.event !== "message.started") return;
    if (id !== "" && told.data.message_id !== id) {
      throw new Disconnected("The turn is not known any more; another one was begun.");
    }
    this.#message = { ...this.#message, ending: undefined }; // it has gone on
  }

  async #call(step: Exclude<Step, "answer">): Promise<Call> {
    if (step === "ask") {
      this.#heard.fromBeginning();
      return this.#ask();
    }
    const { id, conversationId } = this.#message;
    const [of, turn] = [conversationId, id].map(encodeURIComponent);
    const after = this.#heard.resume();
    return {
      method: "GET",
      path: `/conversations/${of}/turns/${turn}/events?wire=answer`,
      ...(after !== "" && { headers: { "Last-Event-ID": after } }),
    };
  }

  async #ask(): Promise<Call> {
    const question = this.#question;
    if (question === undefined) throw new TurnwireError("There is no question to ask.");
    question.key ??= await newKey();
    const headers = { "Idempotency-Key": question.key };
    return { method: "POST", path: "/chat/stream", headers, body: question.body };
  }

  #answer(path: string, more: object): Call {
    const body = JSON.stringify({ conversation_id: this.#conversationId(), ...more });
    return { method: "POST", path, body };
  }

  #conversationId(): string {
    const { conversationId } = this.#message;
    if (conversationId === "") throw new TurnwireError("The turn has not begun: iterate it first.");
    return conversationId;
  }

  #standing(): Standing {
    return {
      isNamed: this.#message.id !== "",
      isMember: this.#connection.isMember,
      hasQuestion: this.#question !== undefined,
    };
  }
}
