// Chains light up: by pointer, by keyboard, or because someone holds one. Only what is in sight is marked and linked: to
// dim the other mentions of a long text at once takes a tenth of a second.

import { called } from "./text.js";
import { mentionAt } from "./transcript.js";

const HINT = matchMedia("(hover: none)").matches
  ? "Tap a mention to see how it was decided."
  : "Point at a mention to see its chain; click it to see the decision.";
const MOST_LINKS = 80;
const SVG = "http://www.w3.org/2000/svg";

export class Chains {
  #text; #root; #about; #links; #rows; #open;
  #lit = null; #held = null; #stop = null; #frame = null;
  #marks = { lit: new Set(), on: new Set() };    // paragraphs where other mentions are dimmed; mentions of the chain

  // `rows` marks the entity in the list; `open` shows the decision on a mention.
  constructor({ text, root, about, links, rows, open }) {
    this.#text = text;
    this.#root = root;
    this.#about = about;
    this.#links = links;
    this.#rows = rows;
    this.#open = open;
    root.addEventListener("pointerover", (event) => {
      const mention = event.pointerType === "touch" ? null : mentionAt(event.target);
      if (mention) this.light(mention.entity, mention); else this.#back();
    });
    root.addEventListener("pointerleave", () => this.#back());
    root.addEventListener("focusin", (event) => {
      const mention = mentionAt(event.target);
      if (mention) this.light(mention.entity, mention);
    });
    root.addEventListener("focusout", () => this.#back());
    root.addEventListener("click", (event) => this.#choose(event));
    root.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") this.hold(null); });
    new ResizeObserver(() => this.#draw()).observe(root);
    document.addEventListener("scroll", () => this.#draw(), { passive: true });
    this.#describe(null, null);
  }

  clear() {
    this.#row(false);
    this.#lit = this.#held = this.#stop = null;
    this.#describe(null, null);
    this.#draw();
  }

  light(id, mention = null) {
    if (this.#lit !== id) {
      this.#row(false);
      this.#lit = id;
      this.#row(true);
      this.#draw();
    }
    this.#describe(id, mention);
  }

  // Keep a chain lit.
  hold(id) {
    this.#held = id;
    this.light(id);
  }

  leave() { this.#back(); }

  // The text has changed.
  refresh() {
    if (this.#lit !== null && !this.#text.entities.has(this.#lit)) this.clear();
    this.#row(true);
    if (!this.#stop?.element.isConnected) {
      const first = this.#text.sentences.find(({ mentions }) => mentions.length)?.mentions[0];
      this.#stop = null;
      if (first) this.#rest(first);
    }
    if (this.#lit === null) this.#describe(null, null);
    this.#draw();
  }

  // What is mentioned once is marked more lightly than a chain.
  weigh(ids) {
    for (const id of ids) {
      const mentions = this.#text.entities.get(id)?.mentions ?? [];
      for (const { element } of mentions.slice(0, 2)) element.classList.toggle("one", mentions.length === 1);
    }
  }

  // Go to a mention, as if it had been reached by keyboard.
  visit(mention) {
    this.#rest(mention);
    mention.element.scrollIntoView({ block: "center" });
    mention.element.focus({ preventScroll: true });
  }

  #back() { this.light(this.#held); }

  #row(on) { if (this.#text.entities.has(this.#lit)) this.#rows(this.#lit, on); }

  #choose(event) {
    const mention = mentionAt(event.target);
    if (!mention) { this.hold(null); return; }
    this.#rest(mention);
    this.#open(mention);
  }

  // One mention can be reached with Tab; arrows go on from there.
  #rest(mention) {
    if (this.#stop) this.#stop.element.tabIndex = -1;
    mention.element.tabIndex = 0;
    this.#stop = mention;
  }

  #key(event) {
    const mention = mentionAt(event.target);
    if (!mention) return;
    const chain = this.#text.entities.get(mention.entity).mentions;
    const along = chain.indexOf(mention);
    if (event.key === "Enter" || event.key === " ") this.#open(mention);
    else {
      const next = {
        ArrowRight: () => this.#beside(mention, 1), ArrowLeft: () => this.#beside(mention, -1),
        ArrowDown: () => chain[along + 1], ArrowUp: () => chain[along - 1],
      }[event.key];
      if (!next) return;
      const found = next();
      if (found) { this.#rest(found); found.element.focus(); }
    }
    event.preventDefault();
  }

  #beside(mention, step) {
    const { sentences } = this.#text;
    let number = mention.sentence - sentences[0].number;
    const found = sentences[number].mentions.indexOf(mention) + step;
    if (sentences[number].mentions[found]) return sentences[number].mentions[found];
    do number += step; while (sentences[number] && !sentences[number].mentions.length);
    return sentences[number]?.mentions.at(step > 0 ? 0 : -1);
  }

  #describe(id, mention) {
    const entity = id === null ? null : this.#text.entities.get(id);
    if (!entity) { this.#about.textContent = this.#text.sentences.length ? HINT : ""; return; }
    const name = document.createElement("b");
    name.textContent = called(entity);
    const facts = [entity.type ?? ""];
    const place = mention ? entity.mentions.indexOf(mention) : -1;
    if (place < 0) facts.push(entity.mentions.length === 1 ? "1 mention" : `${entity.mentions.length} mentions`);
    else {
      facts.push(`mention ${place + 1} of ${entity.mentions.length}`);
      if (mention.confidence != null) facts.push(`${mention.new ? "new" : "linked"} with ${percent(mention.confidence)}`);
    }
    this.#about.replaceChildren(name, ` · ${facts.filter(Boolean).join(" · ")}`);
  }

  // Once a frame, when the page is laid out anyway: to ask for places in between would lay it out each time.
  #draw() {
    this.#frame ??= requestAnimationFrame(() => { this.#frame = null; this.#drawNow(); });
  }

  #drawNow() {
    const entity = this.#lit === null ? null : this.#text.entities.get(this.#lit);
    const near = entity ? inSight(entity.mentions.map(({ element }) => element), (element) => element.closest(".block")) : [];
    this.#mark("lit", entity ? inSight(this.#root.querySelectorAll(".block"), (block) => block) : []);
    this.#mark("on", near);
    if (near.length < 2) { this.#links.replaceChildren(); return; }
    const frame = this.#root.getBoundingClientRect();
    const boxes = near.slice(0, MOST_LINKS).map((element) => {
      const box = element.getClientRects()[0] ?? element.getBoundingClientRect();
      return { x: box.left + box.width / 2 - frame.left, top: box.top - frame.top, bottom: box.bottom - frame.top };
    });
    const paths = boxes.slice(1).map((to, i) => path(boxes[i], to, frame.width));
    const drawn = document.createElementNS(SVG, "path");
    drawn.setAttribute("d", paths.join(" "));
    drawn.setAttribute("class", `c${Number(entity.id) % 6}`);
    this.#links.replaceChildren(drawn);
  }

  #mark(name, elements) {
    const before = this.#marks[name], now = new Set(elements);
    for (const element of before) if (!now.has(element)) element.classList.remove(name);
    for (const element of now) element.classList.add(name);
    this.#marks[name] = now;
  }
}

// Certain is only what is: the rest is more than none of it and less than all.
export const percent = (probability) => {
  const rounded = Math.round(100 * probability);
  if (rounded === 0 && probability > 0) return "<1%";
  return rounded === 100 && probability < 1 ? ">99%" : `${rounded}%`;
};

// Those of some elements, in the order of the text, whose paragraph is around the window. The browser knows where
// paragraphs are; to tell where a mention out of sight is, it would have to lay out what is around it.
function inSight(elements, paragraph) {
  const place = (element) => paragraph(element).getBoundingClientRect();
  let low = 0, high = elements.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (place(elements[middle]).bottom < -innerHeight / 2) low = middle + 1; else high = middle;
  }
  const found = [];
  for (let i = low; i < elements.length && place(elements[i]).top < 1.5 * innerHeight; i++) found.push(elements[i]);
  return found;
}

// On one line an arch above it; from line to line a curve through the space between.
function path(from, to, width) {
  if (Math.abs(from.top - to.top) < 8) {
    const height = Math.min(22, 8 + Math.abs(to.x - from.x) / 12);
    return `M${from.x} ${from.top}C${from.x} ${from.top - height} ${to.x} ${to.top - height} ${to.x} ${to.top}`;
  }
  const gap = to.top - from.bottom;
  const middle = Math.max(10, gap / 2);
  // What stands right below is reached in a bow around the words between, if there are any.
  const sway = gap > 30 && Math.abs(from.x - to.x) < 24 ? Math.min(60, width / 8) : 0;
  return `M${from.x} ${from.bottom}C${from.x - sway} ${from.bottom + middle} ${to.x - sway} ${to.top - middle} ${to.x} ${to.top}`;
}
