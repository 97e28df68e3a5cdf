// Bytes of a text/event-stream in, messages out. No DOM, no network.
//
// WHATWG HTML, "Interpreting an event stream". A decoder belongs to one response; whatever has
// not seen its closing blank line when the response ends is discarded, as the standard asks.

/** What the response said, one chunk at a time: `push(bytes)` returns the finished messages. */
export class EventStreamDecoder {
  // TextDecoder keeps a character that a chunk cut in two, and removes one leading BOM.
  #utf8 = new TextDecoder("utf-8");
  #line = "";
  #skipLineFeed = false;
  #event = "";
  #data = [];
  #id = "";

  /** The id that a re-attaching client sends as `Last-Event-ID`; "" before the first. */
  lastEventId = "";
  /** The reconnection time that the server asked for, in milliseconds; null if it did not. */
  retryMs = null;

  /** Take a chunk (Uint8Array); return the messages it completed: `{event, data, id}`. */
  push(chunk) {
    const messages = [];
    for (const line of this.#lines(this.#utf8.decode(chunk, { stream: true }))) {
      const message = line === "" ? this.#dispatch() : this.#field(line);
      if (message) messages.push(message);
    }
    return messages;
  }

  // CRLF, LF and CR each end a line. A CR ends it at once, so that a message is not held back
  // until the next chunk; an LF that then opens that chunk belongs to the same line end.
  *#lines(text) {
    let start = 0;
    if (this.#skipLineFeed && text !== "") {
      this.#skipLineFeed = false;
      if (text[0] === "\n") start = 1;
    }
    const ends = /\r\n|\n|\r/g;
    ends.lastIndex = start;
    for (let end = ends.exec(text); end !== null; end = ends.exec(text)) {
      const line = this.#line + text.slice(start, end.index);
      this.#line = "";
      start = ends.lastIndex;
      this.#skipLineFeed = end[0] === "\r" && start === text.length;
      yield line;
    }
    this.#line += text.slice(start);
  }

  #field(line) {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment: `: keep-alive`
    const name = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^[0-9]+$/.test(value)) this.retryMs = Number(value);
  }

  #dispatch() {
    this.lastEventId = this.#id;
    const event = this.#event || "message";
    const data = this.#data;
    this.#event = "";
    this.#data = [];
    // A block of empty data lines carries no data: "if the data buffer is an empty string, return".
    if (data.length === 0 || (data.length === 1 && data[0] === "")) return;
    return { event, data: data.join("\n"), id: this.#id };
  }
}
