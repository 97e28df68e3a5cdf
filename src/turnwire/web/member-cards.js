// What a member is asked in a turn: to confirm an action, and to sign in.

import { when } from "./cards.js";
import { el } from "./dom.js";

/** The card of one action; `confirm(pause, decision, feedback)` is called once. */
export function confirmationCard({ pause, id, speech, confirm }) {
  const { say, name } = speech;
  const asked = pause.payload ?? {};
  const feedback = el("textarea", { id: `${id}-feedback`, rows: 2, maxlength: 2000 });
  const progress = el("p", { class: "quiet-text", role: "status" });
  const choose = (decision) => {
    // One answer at a time: those of the turn's other actions wait until this one is done.
    for (const part of card.parentElement.querySelectorAll(".ask-card :is(button, textarea)")) part.disabled = true;
    progress.textContent = say("deciding");
    confirm(pause, decision, decision === "reject" ? feedback.value.trim() : "");
  };
  const button = (decision, kind) =>
    el("button", { type: "button", class: kind, data: { decision }, on: { click: () => choose(decision) } }, say(decision));
  const card = el(
    "section",
    { class: "ask-card", "aria-labelledby": `${id}-title` },
    el("h3", { id: `${id}-title` }, asked.summary || say("confirm_title")),
    el("p", { class: "quiet-text" }, say("confirm_text")),
    preview(asked.arguments_preview ?? {}, name),
    el("label", { for: feedback.id }, say("confirm_feedback")),
    feedback,
    el("div", { class: "buttons" }, button("approve", "primary"), button("reject", "danger")),
    el("p", { class: "quiet-text" }, when(pause, speech)),
    progress,
  );
  return card;
}

function preview(args, name) {
  const rows = Object.entries(args).map(([key, value]) => [
    el("dt", null, name("argument", key)),
    el("dd", null, typeof value === "string" ? value : JSON.stringify(value)),
  ]);
  return rows.length > 0 && el("dl", { class: "preview" }, rows.map((row) => el("div", null, row)));
}

/**
 * The card of a sign-in, in two steps: a number, then the code that was sent to it.
 *
 * `typed` keeps the step while the card is built anew; `actions`: `login(mobile)` and
 * `verify(mobile, code)`, which throw what the server refuses, and `signedIn()`.
 */
export function signInCard({ id, speech, typed, signIn, actions }) {
  const { say } = speech;
  const place = el("div", { class: "steps" });
  const trouble = el("div", { class: "trouble", role: "alert" });

  const show = (isFocused) => {
    place.replaceChildren(typed.isSent ? codeStep() : numberStep());
    trouble.replaceChildren();
    if (isFocused) place.querySelector("input").focus();
  };
  const step = ({ field, words, act, more = [] }) => {
    const send = el("button", { class: "primary" }, say(words.send));
    const submit = async (event) => {
      event.preventDefault();
      if (field.value.trim() === "") return field.focus();
      trouble.replaceChildren();
      send.disabled = field.readOnly = true;
      try {
        await act(field.value.trim());
      } catch (error) {
        send.disabled = field.readOnly = false;
        trouble.replaceChildren(...troubleWords(error, say).map((words) => el("p", null, words)));
        field.setAttribute("aria-invalid", "true");
        field.focus();
      }
    };
    return el(
      "form",
      { novalidate: true, on: { submit } },
      words.hint && el("p", { class: "quiet-text", role: "status" }, words.hint),
      el("label", { for: field.id }, say(words.label)),
      field,
      el("div", { class: "buttons" }, send, more),
    );
  };
  const numberStep = () => {
    const field = el("input", { id: `${id}-mobile`, type: "tel", autocomplete: "tel", placeholder: "+44 7700 900101", maxlength: 64 });
    field.value = typed.mobile ?? "";
    const act = async (mobile) => {
      await actions.login(mobile);
      Object.assign(typed, { mobile, isSent: true });
      show(true);
    };
    return step({ field, words: { label: "mobile", send: "send_code" }, act });
  };
  const codeStep = () => {
    const field = el("input", { id: `${id}-code`, autocomplete: "one-time-code", inputmode: "numeric", maxlength: 64 });
    const back = () => ((typed.isSent = false), show(true));
    const act = async (code) => {
      await actions.verify(typed.mobile, code);
      typed.isSent = false;
      await actions.signedIn();
    };
    const hint = [say("code_sent", { mobile: typed.mobile }), signIn.outbox && say("code_outbox", { folder: signIn.outbox })];
    const other = el("button", { type: "button", on: { click: back } }, say("other_number"));
    return step({ field, words: { label: "code", send: "sign_in", hint: hint.filter(Boolean).join(" ") }, act, more: other });
  };

  show(false);
  return el(
    "section",
    { class: "ask-card", "aria-labelledby": `${id}-title` },
    el("h3", { id: `${id}-title` }, say("sign_in_title")),
    place,
    trouble,
  );
}

function troubleWords(error, say) {
  const known = { invalid_code: "invalid_code", validation_error: "invalid_mobile", rate_limited: "too_many_codes" }[error.code];
  const words = known ? say(known) : error.message || say("unreachable");
  return [error.status ? words : say("unreachable"), error.retryAfter && say("retry_after", { n: error.retryAfter })].filter(Boolean);
}
