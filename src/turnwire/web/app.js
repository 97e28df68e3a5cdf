// The page: connects the conversation with what is on the screen.

import { notice } from "./cards.js";
import { Conversation, facts } from "./conversation.js";
import { el } from "./dom.js";
import { graphView } from "./graph.js";
import { recallLanguage, recallSession, rememberLanguage, rememberSession } from "./memory.js";
import { firstLanguage, readable, speaker } from "./text.js";
import { turnView } from "./turn-view.js";
import { connect, Refused } from "./wire.js";

const at = (id) => document.getElementById(id);
// Suggestions are for the agents that ship; what another one can answer, nobody knows here.
const SHIPPED = [
  { slug: "guarded", title: "Health information", about: "empty_health", examples: "example" },
  { slug: "member", title: "Member assistant", about: "empty_member", examples: "member_example" },
];
const LEGEND = ["running", "done", "skipped", "waiting", "stopped", "failed"];

const { header, signIn = null } = JSON.parse(document.querySelector('meta[name="turnwire"]').content);
const kept = { recall: recallSession, remember: rememberSession };
const client = connect({ base: document.baseURI, header, kept });
const graph = graphView(at("graph"));
const views = new Map();
let speech = speaker(firstLanguage(recallLanguage(), navigator.languages));
let agents = [];
let reviews = [];
let pageError = null;
let isStopping = false;
let announced = "";
let isDrawing = false;
let lastGraph = null;

const conversation = new Conversation({ client, onChange });

// Tokens come faster than the screen: many events, one drawing.
function onChange(entry) {
  const { phase } = entry.turn;
  if (phase !== entry.phaseBefore && (phase === "paused" || entry.phaseBefore === "paused" || phase === "completed")) {
    void loadReviews();
  }
  entry.phaseBefore = phase;
  if (isDrawing) return;
  isDrawing = true;
  requestAnimationFrame(draw);
}

function draw() {
  isDrawing = false;
  const scroll = at("scroll");
  const wasAtEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  const keys = new Set(conversation.entries.map((entry) => entry.key));
  for (const [key, view] of views) {
    if (keys.has(key)) continue;
    view.root.remove();
    views.delete(key);
  }
  for (const entry of conversation.entries) viewOf(entry).render(entry.turn, speech);
  at("empty").hidden = conversation.entries.length > 0;
  showGraph(conversation.current?.turn ?? null);
  showComposer();
  announce(conversation.current?.turn.phase);
  // Follow the words, but keep the question in sight: reading starts at the top.
  const newest = conversation.entries.at(-1);
  if (wasAtEnd && newest) scroll.scrollTop = Math.min(scroll.scrollHeight, viewOf(newest).root.offsetTop);
}

function viewOf(entry) {
  let view = views.get(entry.key);
  if (!view) {
    const moved = () => view.root.focus({ preventScroll: true });
    view = turnView({
      id: entry.key,
      isForeign: entry.isForeign,
      signIn,
      actions: {
        decide: (decision, text) => (moved(), conversation.decide(entry, decision, text)),
        reply: (answers) => (moved(), conversation.reply(entry, answers)),
        confirm: (...decided) => (moved(), conversation.confirm(entry, ...decided)),
        login: (mobile) => client.login(mobile),
        verify: (mobile, code) => client.verify(mobile, code).then(() => showSignedIn(true)),
        signedIn: () => (moved(), conversation.signedIn(entry)),
        again: () => (moved(), conversation.askAgain(entry)),
        reconnect: () => (moved(), conversation.reconnect(entry)),
      },
    });
    views.set(entry.key, view);
    at("turns").append(view.root);
  }
  return view;
}

function showGraph(turn) {
  // Until a new turn has told its graph, the last one stands, unlit.
  if (turn?.graph || !turn || turn.isGraphHidden) lastGraph = turn?.graph ?? null;
  graph.show(turn && !turn.graph && lastGraph ? { ...turn, graph: lastGraph } : turn, speech);
  at("graph-model").textContent = [turn?.agent, turn?.model].filter(Boolean).join(" · ");
  at("legend").hidden = !lastGraph;
}

function showComposer() {
  if (!conversation.isBusy) isStopping = false;
  at("stop").hidden = !conversation.isBusy;
  at("stop").disabled = isStopping;
  at("stop").textContent = speech.say(isStopping ? "stopping" : "stop");
  at("send").hidden = conversation.isBusy;
  at("send").disabled = at("question").value.trim() === "";
}

function announce(phase) {
  const key = { sending: "announce_working", streaming: "announce_working", paused: "announce_paused", completed: "announce_done" }[phase];
  if (!key || key === announced) return;
  announced = key;
  at("status").textContent = speech.say(key);
}

function showWords() {
  document.documentElement.lang = speech.language;
  for (const part of document.querySelectorAll("[data-say]")) part.textContent = speech.say(part.dataset.say);
  for (const part of document.querySelectorAll("[data-label]")) part.setAttribute("aria-label", speech.say(part.dataset.label));
  at("question").placeholder = speech.say("question_hint");
  at("legend").replaceChildren(
    ...LEGEND.map((state) => el("li", { data: { state } }, el("span", { class: "swatch" }), speech.name("legend", state))),
  );
  announced = "";
  showAgents();
  showReviews();
  showPageNotice();
  draw();
}

function example(key) {
  const words = speech.say(key);
  const label = speech.has(`${key}_label`) ? el("small", null, speech.say(`${key}_label`)) : null;
  return el("li", null, el("button", { type: "button", on: { click: () => ask(words) } }, el("span", null, words), label));
}

function showAgents() {
  const chosen = at("agent").value;
  at("agent").replaceChildren(...agents.map((agent) => el("option", { value: agent.slug }, agent.title || agent.slug)));
  if (agents.some((agent) => agent.slug === chosen)) at("agent").value = chosen;
  at("agent-field").hidden = agents.length < 2;
  const agent = agents.find(({ slug }) => slug === at("agent").value);
  showIntroduction(agent);
}

function showIntroduction(agent) {
  const known = SHIPPED.find(({ slug, title }) => agent?.slug === slug && agent.title === title);
  at("empty-title").textContent = known || !agent ? speech.say("empty_title") : agent.title || agent.slug;
  at("about").hidden = !agent;
  at("about").textContent = known ? speech.say(known.about) : (agent?.description || speech.say("empty_text"));
  at("examples").replaceChildren(...(known ? [1, 2, 3, 4].map((n) => example(`${known.examples}_${n}`)) : []));
  at("examples").hidden = !known;
}

function showReviews() {
  at("reviews").hidden = reviews.length === 0 && !at("reviews").open;
  at("reviews-title").textContent = speech.say("reviews", { n: reviews.length });
  const items = reviews.map((review) =>
    el(
      "li",
      null,
      el("div", null, el("p", null, review.question), el("p", { class: "quiet-text" }, reviewDetail(review))),
      el("button", { type: "button", class: "quiet", on: { click: () => openReview(review) } }, speech.say("reviews_open")),
    ),
  );
  at("reviews-list").replaceChildren(items.length ? el("ul", null, items) : el("p", null, speech.say("reviews_none")));
}

const reviewDetail = ({ reasons = [], requested_at: requestedAt }) =>
  [...reasons.map(readable), requestedAt && speech.moment(requestedAt)]
    .filter(Boolean)
    .join(" · ");

function openReview(review) {
  at("reviews").open = false;
  const entry = conversation.openReview(review);
  draw();
  const { root } = viewOf(entry);
  root.scrollIntoView({ block: "start" });
  root.focus({ preventScroll: true });
}

function showPageNotice() {
  at("page-notice").replaceChildren(...(pageError ? [pageNotice(pageError)] : []));
}

function pageNotice({ code, status, message }) {
  if (status === 401) return notice("warn", [speech.say("how_to_enter")]);
  return notice("bad", [code === "unreachable" ? speech.say("unreachable") : message]);
}

async function ask(question) {
  if (question.trim() === "" || conversation.isBusy) return;
  pageError = null;
  showPageNotice();
  at("question").value = "";
  fitQuestion();
  const agent = agents.length > 1 ? at("agent").value : null;
  const asked = conversation.ask(question.trim(), { locale: speech.language, agent });
  draw();
  at("scroll").scrollTop = at("scroll").scrollHeight;
  await asked;
  const { phase, error } = conversation.current?.turn ?? {};
  // What cannot be sent as it is goes back into the box, to be changed.
  const isForEditing = phase === "refused" && !error.retryable && error.status !== 401;
  if (isForEditing && at("question").value === "") at("question").value = question;
  fitQuestion();
}

function fitQuestion() {
  const box = at("question");
  box.style.height = "auto";
  box.style.height = `${Math.min(box.scrollHeight, 200)}px`;
  showComposer();
}

async function stop() {
  isStopping = true;
  showComposer();
  try {
    await conversation.stop();
  } catch (error) {
    isStopping = false;
    tell(error);
  }
}

function startAfresh() {
  conversation.reset();
  pageError = null;
  showPageNotice();
  draw();
  at("question").focus();
}

function showSignedIn(isSignedIn) {
  at("sign-out").hidden = !isSignedIn;
}

async function signOut() {
  try {
    await client.logout();
    showSignedIn(false);
    at("question").focus();
  } catch (error) {
    tell(error);
  }
}

async function loadReviews() {
  try {
    const told = await client.reviews();
    reviews = Array.isArray(told) ? told : (told.reviews ?? []);
  } catch {
    reviews = []; // who may not review has no queue
  }
  showReviews();
}

async function loadAgents() {
  agents = (await client.agents()).agents ?? [];
  showAgents();
}

function tell(error) {
  pageError = facts(error);
  if (error instanceof Refused || error instanceof TypeError) showPageNotice();
  else throw error;
}

at("composer").addEventListener("submit", (event) => {
  event.preventDefault();
  void ask(at("question").value);
});
at("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void ask(at("question").value);
});
at("question").addEventListener("input", fitQuestion);
at("stop").addEventListener("click", stop);
at("new-conversation").addEventListener("click", startAfresh);
at("sign-out").addEventListener("click", signOut);
at("agent").addEventListener("change", () => (startAfresh(), showAgents()));
at("language").addEventListener("change", () => {
  speech = speaker(at("language").value);
  rememberLanguage(speech.language);
  showWords();
});
at("graph-toggle").addEventListener("click", () => {
  const isOpen = at("graph-toggle").getAttribute("aria-expanded") === "true";
  at("graph-toggle").setAttribute("aria-expanded", String(!isOpen));
  document.body.classList.toggle("graph-open", !isOpen);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") at("reviews").open = false;
});

at("language").value = speech.language;
showWords();
loadAgents()
  .then(() => Promise.all([loadReviews(), conversation.restore(), client.isSignedIn().then(showSignedIn)]))
  .catch(tell);
