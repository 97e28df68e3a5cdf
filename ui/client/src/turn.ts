import { ANSWER_EVENTS } from "./events.js";
import type {
  ActionCompletedFrame,
  AnswerEvent,
  AuthRequired,
  CitationFrame,
  ConfirmationRequired,
  Document,
  JsonValue,
  OpenQuestion,
  Usage,
} from "./events.js";
import type { ServerSentEvent } from "./sse.js";

/** Forget what was shown of this message: it is told again from its beginning. */
export interface Restarted {
  id: string;
  event: "client.restarted";
  /** `answer_replaced`: words were taken back. `stream_interrupted`: some were never stored. */
  data: { reason: "answer_replaced" | "stream_interrupted" };
}

/** An event of a later server, which this client does not know. */
export interface Unknown {
  id: string;
  event: "client.unknown";
  data: { name: string; data: JsonValue };
}

/** What a turn tells: the events of the answer wire, and two of this client's own. */
export type TurnEvent = AnswerEvent | Restarted | Unknown;

/** How a turn stands when its stream has closed in good order. */
export type Ending =
  /** It waits for a person; `reason` is `awaiting_…`. */
  | { kind: "paused"; reason: string; questions: OpenQuestion[] }
  /** It is over; the set of reasons is open. */
  | { kind: "completed"; reason: string; usage?: Usage }
  | { kind: "failed"; code: string; message: string; retryable: boolean; errorId?: string };

export interface Tool {
  id: string;
  name: string;
  status: "running" | "ok" | "error";
  error?: string;
}

/** A confirmation that was asked for, and how it ended. */
export interface Confirmation {
  asked: ConfirmationRequired;
  completed?: ActionCompletedFrame;
}

/** What there is to show of a turn. */
export interface Message {
  readonly id: string;
  readonly conversationId: string;
  readonly model: string;
  readonly text: string;
  readonly documents: readonly Document[];
  readonly tools: readonly Tool[];
  readonly citations: readonly CitationFrame[];
  readonly confirmations: readonly Confirmation[];
  /** The last sign-in that was asked for. */
  readonly signIn: AuthRequired | undefined;
  /** Undefined while the turn runs, and where its stream was cut. */
  readonly ending: Ending | undefined;
}

export const NOTHING: Message = {
  id: "",
  conversationId: "",
  model: "",
  text: "",
  documents: [],
  tools: [],
  citations: [],
  confirmations: [],
  signIn: undefined,
  ending: undefined,
};

/** Return what there is to show after an event; an event that comes twice changes nothing more. */
export function reduce(before: Message, { event, data }: TurnEvent): Message {
  switch (event) {
    case "message.started":
      return {
        ...before,
        id: data.message_id,
        conversationId: data.conversation_id,
        model: data.model,
        ending: undefined,
      };
    case "retrieval.completed":
      return { ...before, documents: data.documents };
    case "tool.started":
      return { ...before, tools: put(before.tools, tool(data.tool_call_id, data.name, "running")) };
    case "tool.completed":
      return {
        ...before,
        tools: put(before.tools, tool(data.tool_call_id, data.name, data.status, data.error)),
      };
    case "action.confirmation_required":
      return { ...before, confirmations: asked(before.confirmations, data) };
    case "action.completed":
      return { ...before, confirmations: answered(before.confirmations, data) };
    case "auth.required":
      return { ...before, signIn: data };
    case "token.delta":
      return { ...before, text: before.text + data.text };
    case "citation":
      return { ...before, citations: put(before.citations, data) };
    case "message.completed":
      return { ...before, ending: completed(data) };
    case "error":
      return { ...before, ending: failed(data) };
    case "client.restarted":
      return { ...NOTHING, id: before.id, conversationId: before.conversationId };
    case "client.unknown":
      return before;
  }
}

/** Whether nothing follows this event in its stream. */
export function closes(event: TurnEvent): boolean {
  return event.event === "message.completed" || event.event === "error";
}

/** Return what the server said, typed; a name that is not known keeps its words. */
export function typed({ id, event, data }: ServerSentEvent): AnswerEvent | Unknown {
  const said = JSON.parse(data) as JsonValue;
  if ((ANSWER_EVENTS as readonly string[]).includes(event)) {
    return { id, event, data: said } as unknown as AnswerEvent;
  }
  return { id, event: "client.unknown", data: { name: event, data: said } };
}

function put<T extends { id: string }>(list: readonly T[], item: T): readonly T[] {
  const at = list.findIndex((each) => each.id === item.id);
  return at < 0 ? [...list, item] : list.map((each, index) => (index === at ? item : each));
}

function tool(id: string, name: string, status: Tool["status"], error?: string): Tool {
  return { id, name, status, ...(error !== undefined && { error }) };
}

function asked(list: readonly Confirmation[], data: ConfirmationRequired): Confirmation[] {
  const known = list.some((each) => each.asked.confirmation_id === data.confirmation_id);
  return known ? [...list] : [...list, { asked: data }];
}

function answered(list: readonly Confirmation[], data: ActionCompletedFrame): Confirmation[] {
  return list.map((each) =>
    each.asked.confirmation_id === data.confirmation_id ? { ...each, completed: data } : each,
  );
}

function completed(data: { finish_reason: string; usage?: Usage; pauses?: OpenQuestion[] }): Ending {
  const { finish_reason: reason, usage, pauses } = data;
  if (reason.startsWith("awaiting_")) return { kind: "paused", reason, questions: pauses ?? [] };
  return { kind: "completed", reason, ...(usage !== undefined && { usage }) };
}

function failed(data: {
  code: string;
  message: string;
  retryable: boolean;
  error_id?: string;
}): Ending {
  const { code, message, retryable, error_id: errorId } = data;
  return { kind: "failed", code, message, retryable, ...(errorId !== undefined && { errorId }) };
}
