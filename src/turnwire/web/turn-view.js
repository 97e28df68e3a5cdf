// One turn in the chat column: the question, the answer as it comes, and what stands around it.

import { answerNodes } from "./answer.js";
import { chips, costLine, inputCard, notice, reviewCard, sources } from "./cards.js";
import { el } from "./dom.js";
import { confirmationCard, signInCard } from "./member-cards.js";
import { readable } from "./text.js";
import { isLive } from "./turn.js";

/**
 * `actions`: `{decide, reply, confirm, login, verify, signedIn, again, reconnect}`; `isForeign`: opened
 * from the review queue; `signIn`: how people sign in here, `{outbox}`, or null where they can't.
 */
export function turnView({ id, isForeign, actions, signIn }) {
  const who = el("span", { class: "visually-hidden" });
  const asked = el("p", { class: "question" });
  const origin = el("p", { class: "origin" });
  const answer = el("div", { class: "answer", "aria-live": "polite" });
  const around = el("div", { class: "around" });
  const root = el(
    "article",
    { class: "turn", id, tabindex: -1 },
    el("div", { class: "question-row" }, isForeign ? origin : null, el("h3", null, who, asked)),
    answer,
    around,
  );
  const idOf = (marker) => `${id}-source-${marker}`;
  const typed = {}; // a sign-in goes on after a change of the language
  let shown = null;
  let shownIn = null;

  return {
    root,
    render(turn, speech) {
      if (turn === shown && speech === shownIn) return;
      const isSame = (...keys) => shownIn === speech && shown && keys.every((key) => shown[key] === turn[key]);
      who.textContent = `${speech.say("you")}: `;
      asked.textContent = turn.question;
      asked.hidden = turn.question === "";
      origin.textContent = speech.say("from_review");
      root.dataset.phase = turn.phase;
      answer.setAttribute("aria-busy", String(isLive(turn)));
      if (!isSame("text", "citations", "phase", "review")) showAnswer(answer, turn, { idOf, speech });
      // A card that somebody is typing in is rebuilt only when the turn itself moved on.
      if (!isSame("phase", "review", "pauses", "error", "attempt", "replacedBecause", "citations", "lacksSignIn")) {
        around.replaceChildren(...surroundings(turn, { id, idOf, speech, actions, signIn, typed }));
      }
      shown = turn;
      shownIn = speech;
    },
  };
}

function showAnswer(answer, turn, { idOf, speech }) {
  // The review card holds the draft, where it can be edited.
  const isHidden = turn.phase === "paused" && turn.review;
  const isEmpty = turn.text.trim() === "";
  const nodes = isHidden || isEmpty ? [] : answerNodes(turn.text, { citations: turn.citations, idOf, speech });
  if (isLive(turn) && isEmpty) {
    nodes.push(el("p", { class: "working" }, el("span", { class: "wire", "aria-hidden": "true" }), speech.say("working")));
  }
  if (turn.phase === "completed" && isEmpty && !turn.finishReason) nodes.push(el("p", { class: "quiet-text" }, speech.say("no_text")));
  answer.replaceChildren(...nodes);
}

function surroundings(turn, { id, idOf, speech, actions, signIn, typed }) {
  const { say, name } = speech;
  const asksSignIn = () => signIn && signInCard({ id: `${id}-sign-in`, speech, typed, signIn, actions });
  const rewritten = rewrittenWords(turn, speech);
  const parts = [
    rewritten && el("p", { class: "quiet-label" }, rewritten),
    turn.finishReason && turn.finishReason !== "stop"
      ? el("p", { class: "quiet-label", data: { finish: turn.finishReason } }, name("finish", finish(turn)))
      : null,
  ];
  if (turn.phase === "paused") parts.push(...questions(turn, { id, speech, actions, asksSignIn }));
  if (turn.lacksSignIn) parts.push(asksSignIn());
  parts.push(sources(turn.citations, idOf, speech), chips(turn.decisions, speech), costLine(turn, speech));
  if (turn.phase === "reconnecting") parts.push(notice("warn", [say("reconnecting", { n: turn.attempt })]));
  if (turn.phase === "lost") parts.push(notice("bad", [say("lost")], { label: say("reconnect"), run: actions.reconnect }));
  if (turn.error) parts.push(errorNotice(turn, { speech, actions }));
  return parts.filter(Boolean);
}

function rewrittenWords({ replacedBecause, phase }, { say, has }) {
  // Of a rejection, the finish reason tells.
  if (!replacedBecause || phase === "paused" || replacedBecause === "reviewer_reject") return null;
  const own = `rewritten_${replacedBecause}`;
  return has(own) ? say(own) : say("rewritten", { reason: readable(replacedBecause) });
}

// `refused` has two authors, and an old turn may come without the decisions that tell them apart.
function finish({ finishReason, decisions }) {
  if (finishReason !== "refused") return finishReason;
  if (decisions.some(({ check, outcome }) => check === "hitl_review" && outcome === "reject")) return "rejected";
  return decisions.some(({ outcome }) => outcome === "refuse") ? "refused" : "declined";
}

function questions(turn, { id, speech, actions, asksSignIn }) {
  const of = (...kinds) => turn.pauses.filter((pause) => kinds.includes(pause.kind));
  const inputs = of("input", "approval");
  return [
    turn.review && reviewCard({ turn, id, speech, decide: actions.decide }),
    ...of("confirmation").map((pause, index) =>
      confirmationCard({ pause, id: `${id}-confirm-${index}`, speech, confirm: actions.confirm }),
    ),
    of("sign_in").length > 0 && asksSignIn(),
    inputs.length > 0 && inputCard({ pauses: inputs, id: `${id}-input`, speech, reply: actions.reply }),
  ];
}

function errorNotice({ phase, error }, { speech: { say }, actions }) {
  const unsaid = { unreachable: "unreachable" }[error.code] ?? (phase === "failed" ? "failed" : "refused");
  const isSignedOut = error.status === 401;
  const texts = [isSignedOut ? say("how_to_enter") : error.message || say(unsaid)];
  if (error.retryAfter) texts.push(say("retry_after", { n: error.retryAfter }));
  for (const detail of Array.isArray(error.details) ? error.details : []) texts.push(detailText(detail));
  if (error.id) texts.push(say("reference", { id: error.id }));
  const mayRepeat = phase !== "paused" && (error.retryable || isSignedOut);
  return notice(isSignedOut ? "warn" : "bad", texts, mayRepeat ? { label: say("again"), run: actions.again } : null);
}

const detailText = (detail) =>
  typeof detail === "string" ? detail : [[detail.path].flat().join("."), detail.reason].filter(Boolean).join(": ");
