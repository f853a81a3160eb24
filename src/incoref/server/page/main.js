// The page: puts its parts together. A session's id stands in the address after #, which browsers keep to themselves:
// #session=… is one to write to, #view=… one to look at.

import { Api } from "./api.js";
import { Chains } from "./chains.js";
import { Composer } from "./composer.js";
import { Decision } from "./decision.js";
import { EntityList, made } from "./entities.js";
import { EXAMPLES } from "./examples.js";
import { Session } from "./session.js";
import { Text, called } from "./text.js";
import { Transcript, dress } from "./transcript.js";

const $ = (id) => document.getElementById(id);
const SLICE = 12;            // milliseconds of work between two chances for the browser to answer people
const COMPLAINT = 8_000;
const STATES = { ready: "Ready", live: "Live", away: "Reconnecting …", gone: "Session ended" };

const text = new Text();
const api = new Api(askForToken);
let session, chains, list, composer, decision, quiet = false;
let connection = "ready", complaint;

const act = {
  light: (id) => chains.light(id),
  leave: () => chains.leave(),
  hold: (id) => chains.hold(id),
  visit: (mention) => chains.visit(mention),
  mayCorrect: () => session.view === null,
  rename: (id, name) => session.rename(id, name).catch(() => {}),
  merge: (id, other) => session.merge(id, other).then(() => tell("Merged."), () => {}),
  detach: (mention) => corrected(session.detach(mention)),
  split: (id, mentions) => corrected(session.split(id, mentions)),
  reassign: (mention, id) => corrected(session.reassign(mention, id)),
};
// Whether it was; the session tells what was refused.
const corrected = (sent) => sent.then(() => { tell("Corrected."); return true; }, () => false);
const transcript = new Transcript($("blocks"));

function place() {
  const given = new URLSearchParams(location.hash.slice(1));
  const id = (name) => /^[0-9a-f]{32}$/.exec(given.get(name) ?? "")?.[0] ?? null;
  return { id: id("session"), view: id("view") };
}

// With `keep`, what stands in the text field stays.
function begin({ id, view }, { keep = false } = {}) {
  session?.close();
  text.clear();
  transcript.clear();
  chains.clear();
  list.clear();
  if (!keep) composer.clear();
  document.body.classList.toggle("looking", view !== null);
  $("banner").hidden = view === null;
  $("banner").textContent = "You are viewing a shared session. It updates automatically.";
  show("ready");
  session = new Session(api, hear, { id, view });
  refresh();
}

const hear = {
  state: (name) => show(name),
  begun: (id) => history.pushState(null, "", `#session=${id}`),
  changed: take,
  refused: (error) => show("refused", error.message),
};

function show(name, message) {
  // That a session begins is no news to somebody who has just given it a chat.
  if (name === "live" && $("state").dataset.state === "told") { connection = name; return; }
  clearTimeout(complaint);
  // A complaint, or what was recognised, is shown for a while, and then how the connection is.
  if (name === "refused" || name === "told") complaint = setTimeout(() => { $("state").dataset.state = connection; show(connection); }, COMPLAINT);
  else connection = name;
  $("state").dataset.state = name;
  $("state").textContent = message ?? STATES[name];
}

function tell(message) { $("news").textContent = message; }

// What the server told comes onto the page, a few sentences at a time.
async function take(answer, since) {
  const mine = session;
  const { kept, fresh, moved, gone } = text.take(answer, since);
  transcript.cut(kept);
  moved.forEach(dress);
  for (const id of gone) list.remove(id);
  let begun = performance.now();
  for (const sentence of fresh) {
    text.add(sentence);
    transcript.add(sentence);
    composer.know(sentence.speaker);
    if (performance.now() - begun > SLICE) {
      await new Promise((resolve) => setTimeout(resolve));
      if (session !== mine) return;
      begun = performance.now();
    }
  }
  transcript.wait(text.pending);
  await listed(answer.entities.map(({ id }) => id), mine);
  if (session !== mine) return;
  refresh();
  if (!since || !fresh.length || quiet) return;    // a long text is read from its beginning
  announce(fresh);
  if (nearEnd()) transcript.element(text.sentences.length - 1).scrollIntoView({ block: "nearest" });
}

async function listed(ids, mine) {
  for (let place = 0; place < ids.length; place += 50) {
    if (place) await new Promise((resolve) => setTimeout(resolve));
    if (session !== mine) return;
    const some = ids.slice(place, place + 50);
    list.update(some);
    chains.weigh(some);
  }
}

function refresh() {
  const some = text.sentences.length > 0 || text.pending !== "";
  $("welcome").hidden = some || session.view !== null;
  $("undo").disabled = !some;
  $("share").disabled = session.id === null;
  $("export").hidden = !some;
  $("nobody").hidden = text.entities.size > 0;
  $("keys").hidden = !some;
  document.querySelector(".filters").hidden = text.entities.size < 8;
  $("counts").textContent = text.entities.size ? text.entities.size.toLocaleString("en") : "";
  document.querySelector("#text").classList.toggle("empty", !some);
  chains.refresh();
}

// For those who listen: what the last sentence was about.
function announce(fresh) {
  const last = fresh.at(-1);
  const names = new Set(last.mentions.map(({ entity }) => called(text.entities.get(entity))));
  tell(`Sentence ${last.number + 1}: ${names.size ? [...names].join(", ") : "no mentions"}`);
}

const nearEnd = () => innerHeight + scrollY > document.documentElement.scrollHeight - 400;

async function undo() {
  $("undo").disabled = true;
  try {
    await session.settled();
    const before = text.all;
    do {
      await session.undo();
      await session.settled();
    } while (text.all.length === before.length && !session.closed);
    const taken = before.slice(text.all.length);
    if (taken.trim() && taken.length < 600) composer.putBack(taken);
    tell("Undone.");
  } catch {
    // the session has told what was refused
  } finally {
    refresh();
  }
}

async function save(format) {
  $("export").open = false;
  try {
    const answer = await session.export(format, !$("several").checked);    // what the list shows
    const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))?.[1];
    const link = made("a", [], { href: URL.createObjectURL(await answer.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    show("refused", error.message);
  }
}

async function share() {
  try {
    const { view } = await session.share();
    $("link").value = new URL(`#view=${view}`, location.href).href;
    $("copy").textContent = "Copy the link";
    $("sharing").showModal();
    $("link").select();
  } catch (error) {
    show("refused", error.message);
  }
}

async function copy() {
  $("link").select();
  try {
    await navigator.clipboard.writeText($("link").value);
    $("copy").textContent = "Copied";
  } catch {
    $("copy").textContent = "Press Ctrl+C";    // the browser lets pages copy only over https or from this machine
  }
}

async function unshare() {
  try {
    await session.unshare();
    $("sharing").close();
    tell("The link has been revoked.");
  } catch (error) {
    show("refused", error.message);
  }
}

function askForToken() {
  return new Promise((resolve) => {
    $("asking").addEventListener("close", () => { resolve($("token").value); $("token").value = ""; }, { once: true });
    $("asking").showModal();
  });
}

function startFresh(options) {
  history.pushState(null, "", location.pathname);
  begin({ id: null, view: null }, options);
}

// One to write to: if the server has none of that id any more, another one begins.
function open() {
  if (session.closed) startFresh({ keep: true });
  return session;
}

function play(example) {
  $("examples").open = false;
  if (text.sentences.length || text.pending) startFresh();
  composer.play(example);
}

function progress(done, all) {
  $("progress").hidden = done === null;
  quiet = done !== null && all > 5_000;
  if (done === null) return;
  $("done").value = done / all;
  $("told").textContent = `${Math.round(100 * done / all)}% read`;
}

chains = new Chains({
  text, root: $("text"), about: $("about"), links: $("links"),
  rows: (id, on) => list.mark(id, on), open: (mention) => decision.show(mention),
});
list = new EntityList({ text, list: $("entities"), find: $("find"), several: $("several"), act });
composer = new Composer({
  form: $("composer"), words: $("words"), speaker: $("speaker"), speakers: $("speakers"), session: open, progress,
  recognise: (text, name) => api.json("/v1/recognise", { method: "POST", body: { text, name } }),
  tell: (message) => { show("told", message); tell(message); },
  complain: (error) => show("refused", error.message),
});
decision = new Decision({
  dialog: $("decision"), text, act, ask: (start, end) => session.decision(start, end),
  correct: (id) => list.open(id), light: (id, mention) => chains.light(id, mention),
});
for (const where of [$("examples").querySelector("div"), $("starters")]) {
  for (const example of EXAMPLES) {
    const button = made("button", [], { type: "button" });
    button.append(made("b", [], { textContent: example.name }), ` ${example.about}`);
    button.addEventListener("click", () => play(example));
    where.append(button);
  }
}
$("new").addEventListener("click", () => { startFresh(); $("words").focus(); });
$("open").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", () => {
  const [file] = $("file").files;
  $("file").value = "";
  if (file) composer.read(file).catch((error) => show("refused", error.message));
});
$("undo").addEventListener("click", undo);
$("stop").addEventListener("click", () => composer.stop());
$("share").addEventListener("click", share);
$("copy").addEventListener("click", copy);
$("unshare").addEventListener("click", unshare);
for (const button of document.querySelectorAll("[data-format]")) {
  button.addEventListener("click", () => save(button.dataset.format));
}
document.addEventListener("pointerdown", (event) => {
  for (const menu of document.querySelectorAll(".menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll(".menu[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
});
addEventListener("popstate", () => {
  const { id, view } = place();
  if (id !== session.id || view !== session.view) begin({ id, view });
});
begin(place());
