// Runs the client for the tests: a JSON command a line, and for each what came of it as JSON.
import { createInterface } from "node:readline";

const { Turnwire } = await import(process.argv[2]);
const turns = new Map();

const COMMANDS = {
  async ask({ turn, options, message, ask = {}, ...how }) {
    const aborting = new AbortController();
    const made = new Turnwire(options).ask(message, { ...ask, signal: aborting.signal });
    turns.set(turn, made);
    return tell(made, made, { ...how, aborting });
  },
  async attach({ turn, options, ...known }) {
    const made = new Turnwire(options).attach(known);
    turns.set(turn, made);
    return tell(made, made);
  },
  async go({ turn }) {
    return tell(turns.get(turn), turns.get(turn));
  },
  async confirm({ turn, id, decision, feedback = "" }) {
    const made = turns.get(turn);
    return tell(made, made.confirm(id, decision, { feedback }));
  },
  async resume({ turn }) {
    return tell(turns.get(turn), turns.get(turn).resume());
  },
  async answer({ turn, answers }) {
    const made = turns.get(turn);
    return tell(made, made.answer(answers));
  },
  async session({ options }) {
    return new Turnwire(options).openSession();
  },
  async auth({ options, call, given = [] }) {
    return new Turnwire(options)[call](...given);
  },
};

async function tell(turn, events, { until, then, aborting } = {}) {
  const heard = [];
  for await (const each of events) {
    heard.push(each);
    if (each.event !== until) continue;
    until = undefined;
    if (then === "cancel") heard.push(await turn.cancel());
    else if (then === "abort") aborting.abort(new Error("enough"));
    else break;
  }
  return { events: heard, message: turn.message };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { command, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = await COMMANDS[command](given);
  } catch (error) {
    const message = turns.get(given.turn)?.message;
    answer = { thrown: { ...error, name: error.name, text: error.message }, message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
