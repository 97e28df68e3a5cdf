/** Asks a turnwire server and follows its answers, in browsers and in Node. */
export { Turnwire } from "./client.js";
export type { Ask, Session, Signed } from "./client.js";
export type { Options } from "./connection.js";
export { Disconnected, Refused, TurnwireError } from "./errors.js";
export type * from "./events.js";
export { EventStreamParser } from "./sse.js";
export type { ServerSentEvent } from "./sse.js";
export type { Turn } from "./telling.js";
export { NOTHING, reduce } from "./turn.js";
export type { Confirmation, Ending, Message, Restarted, Tool, TurnEvent, Unknown } from "./turn.js";
