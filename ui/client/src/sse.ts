/** A server-sent event, as WHATWG HTML, "Interpreting an event stream", dispatches it. */
export interface ServerSentEvent {
  /** The last id that the stream has named; empty before the first. */
  id: string;
  event: string;
  data: string;
}

const CR = "\r";
const LF = "\n";

/** Reads an event stream in pieces that may cut lines, line ends and characters anywhere. */
export class EventStreamParser {
  // Takes the byte order mark away, too.
  readonly #decoder = new TextDecoder("utf-8");
  #line: string[] = [];
  #afterCR = false;
  #id = "";
  #event = "";
  #data: string[] = [];

  /** Return the events that this piece completes. What no blank line ends is never dispatched. */
  feed(piece: Uint8Array): ServerSentEvent[] {
    const found: ServerSentEvent[] = [];
    const text = this.#decoder.decode(piece, { stream: true });
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
      const each = text[at];
      if (each !== CR && each !== LF) continue;
      if (each === LF && this.#afterCR && at === from && this.#line.length === 0) {
        this.#afterCR = false; // the second half of CRLF
        from = at + 1;
        continue;
      }
      this.#line.push(text.slice(from, at));
      this.#end(this.#line.join(""), found);
      this.#line = [];
      this.#afterCR = each === CR;
      from = at + 1;
    }
    if (from < text.length) {
      this.#line.push(text.slice(from));
      this.#afterCR = false;
    }
    return found;
  }

  #end(line: string, found: ServerSentEvent[]): void {
    if (line === "") {
      this.#dispatch(found);
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#data.push(value);
    else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    // All else is a comment, or a field that is to be ignored.
  }

  #dispatch(found: ServerSentEvent[]): void {
    if (this.#data.length > 0) {
      found.push({ id: this.#id, event: this.#event || "message", data: this.#data.join(LF) });
    }
    this.#event = "";
    this.#data = [];
  }
}
