// Reads files of server-sent events with eventsource-parser, in pieces that cut lines and
// characters anywhere; prints, for each file, its events.
import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';

const PIECE = 7;

function events(file) {
  const read = [];
  const parser = createParser({
    onEvent: (each) => read.push([each.id ?? null, each.event ?? null, each.data]),
    onError: (error) => {
      throw error;
    },
  });
  const bytes = readFileSync(file);
  const decoder = new TextDecoder();
  for (let at = 0; at < bytes.length; at += PIECE) {
    parser.feed(decoder.decode(bytes.subarray(at, at + PIECE), { stream: true }));
  }
  parser.feed(decoder.decode());
  return read;
}

const files = process.argv.slice(2);
process.stdout.write(JSON.stringify(files.map(events)));
