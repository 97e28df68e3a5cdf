// What stands around an answer: sources, guardrail chips, the cost line, and questions to people.

import { el } from "./dom.js";
import { readable } from "./text.js";

const TONES = { pass: "good", approve: "good", redact: "warn", flag: "warn", edit: "warn" };

/** The citation cards; `idOf(marker)` is the element id that a marker links to. */
export function sources(citations, idOf, speech) {
  if (citations.length === 0) return null;
  const cards = citations.map((citation) =>
    el(
      "li",
      { id: idOf(citation.marker), class: "source", tabindex: -1 },
      el("span", { class: "source-marker", "aria-hidden": "true" }, citation.marker),
      el("div", null, el("p", { class: "source-title" }, citation.title), el("p", { class: "source-text" }, citation.snippet)),
    ),
  );
  return el("section", { class: "sources" }, el("h4", null, speech.say("sources")), el("ol", null, cards));
}

/** The guardrails' verdicts; a check that passed stays quiet. */
export function chips(decisions, speech) {
  if (decisions.length === 0) return null;
  const items = decisions.map((decision) => {
    const outcome = speech.name("outcome", decision.outcome);
    const reason = decision.reason && decision.outcome !== "pass" ? ` · ${readable(decision.reason)}` : "";
    const title = [decision.stage, decision.check, decision.outcome, decision.reason, `${decision.duration_ms} ms`];
    return el(
      "li",
      { class: `chip ${TONES[decision.outcome] ?? "bad"}`, title: title.filter(Boolean).map(readable).join(" · ") },
      el("span", { class: "chip-check" }, speech.name("check", decision.check)),
      ` ${outcome}${reason}`,
    );
  });
  return el("ul", { class: "chips", "aria-label": speech.say("decisions") }, items);
}

/** Model, tokens, time and money of an answer, in one line. */
export function costLine({ cost, finishReason, humanWaitMs }, speech) {
  const told = [];
  // A stopped turn has no account of its model: a call may have been under way.
  const isUntold = !cost || (cost.tokens_in + cost.tokens_out === 0 && (finishReason === "cancelled" || cost.model === "unknown"));
  if (!isUntold && cost.model === "none") told.push(speech.say("cost_none"));
  else if (!isUntold) {
    told.push(cost.model);
    told.push(speech.say("cost_tokens", { in: speech.number(cost.tokens_in), out: speech.number(cost.tokens_out) }));
    if (cost.llm_latency_ms > 0) told.push(speech.duration(cost.llm_latency_ms));
    if (cost.usd > 0) told.push(`$${cost.usd < 0.01 ? cost.usd.toPrecision(2) : cost.usd.toFixed(2)}`);
  }
  if (humanWaitMs) told.push(speech.say("waited", { time: speech.duration(humanWaitMs) }));
  return told.length ? el("p", { class: "cost" }, told.join(" · ")) : null;
}

/** A notice with an optional button. */
export function notice(tone, texts, action) {
  return el(
    "div",
    { class: `notice ${tone}`, role: tone === "bad" ? "alert" : "status" },
    el("div", null, texts.filter(Boolean).map((text) => el("p", null, text))),
    action && el("button", { type: "button", class: "quiet", on: { click: action.run } }, action.label),
  );
}

/** The review card; `decide(decision, editedText)` is called once. */
export function reviewCard({ turn, id, speech, decide }) {
  const { say } = speech;
  const { review, draft } = turn;
  const text = el("textarea", { id: `${id}-draft`, rows: Math.min(12, Math.max(4, Math.ceil(draft.length / 70))) });
  text.value = draft;
  const button = (label, kind, decision) =>
    el("button", { type: "button", class: kind, data: { decision }, on: { click: () => choose(decision) } }, say(label));
  const approve = button("approve", "primary", "approve");
  const edit = button("save_edit", "", "edit");
  const reject = button("reject", "danger", "reject");
  const progress = el("p", { class: "quiet-text", role: "status" });
  const isEdited = () => text.value.trim() !== "" && text.value !== draft;
  const choose = (decision) => {
    for (const part of [approve, edit, reject, text]) part.disabled = true;
    progress.textContent = say("deciding");
    decide(decision, decision === "edit" ? text.value : undefined);
  };
  // What was edited must not be approved as it was before by a hasty click.
  const settle = () => {
    edit.disabled = !isEdited();
    approve.disabled = isEdited();
  };
  text.addEventListener("input", settle);
  settle();
  return el(
    "section",
    { class: "ask-card", "aria-labelledby": `${id}-title` },
    el("h3", { id: `${id}-title` }, say("review_title")),
    el("p", { class: "quiet-text" }, say("review_text")),
    review.reasons?.length
      ? el("ul", { class: "chips" }, review.reasons.map((reason) => el("li", { class: "chip warn" }, readable(reason))))
      : null,
    review.question && review.question !== turn.question ? el("blockquote", null, review.question) : null,
    el("label", { for: `${id}-draft` }, say("review_draft")),
    text,
    el("div", { class: "buttons" }, approve, edit, reject),
    el("p", { class: "quiet-text" }, when(review, speech)),
    progress,
  );
}

/** When a question was asked and when it expires, in one line. */
export const when = (asked, { say, moment }) =>
  [
    asked.requested_at && say("review_asked", { when: moment(asked.requested_at) }),
    asked.expires_at && say("review_expires", { when: moment(asked.expires_at) }),
  ]
    .filter(Boolean)
    .join(" · ");

/** One form for all the pauses that ask for input; `reply({pause_id: value})` is called once. */
export function inputCard({ pauses, id, speech, reply }) {
  const { say } = speech;
  const fields = pauses.map((pause, index) => ({
    pause,
    box: el("textarea", { id: `${id}-reply-${index}`, rows: 2, required: true }),
  }));
  const send = el("button", { class: "primary" }, say("input_send"));
  const submit = (event) => {
    event.preventDefault();
    if (fields.some(({ box }) => box.value.trim() === "")) return;
    for (const { box } of fields) box.disabled = true;
    send.disabled = true;
    reply(Object.fromEntries(fields.map(({ pause, box }) => [pause.pause_id, replyValue(box.value, pause.response_schema)])));
  };
  return el(
    "form",
    { class: "ask-card", "aria-labelledby": `${id}-title`, on: { submit } },
    el("h3", { id: `${id}-title` }, say("input_title")),
    fields.map(({ pause, box }) => [
      el("pre", { tabindex: 0 }, JSON.stringify(pause.payload, null, 2)),
      pause.response_schema &&
        el("details", null, el("summary", null, say("input_expects")), el("pre", { tabindex: 0 }, JSON.stringify(pause.response_schema, null, 2))),
      el("label", { for: box.id }, say("input_label")),
      box,
      pause.expires_at && el("p", { class: "quiet-text" }, when(pause, speech)),
    ]),
    el("div", { class: "buttons" }, send),
  );
}

/** What was typed, as JSON if it is JSON; where the schema wants a string, as it stands. */
export function replyValue(typed, schema) {
  if (schema?.type === "string") return typed;
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}
