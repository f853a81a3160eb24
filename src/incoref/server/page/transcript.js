// The text on the page: sentences in paragraphs and turns, mentions as nested marks. New sentences are added and old ones
// stay as they are, so that a long text costs no more than a short one. Knows no server.

import { look, points } from "./text.js";

const HIGHEST = 3;           // lines that can be told apart below one another
const BLOCK = 40;            // sentences in a paragraph that has no breaks: the browser skips paragraphs out of sight

export class Transcript {
  #blocks; #parts = [];      // of each sentence: its element, and the block it is in
  #pending = document.createElement("span");

  constructor(blocks) {
    this.#blocks = blocks;
    this.#pending.className = "pending";
  }

  clear() {
    this.#blocks.replaceChildren();
    this.#parts = [];
  }

  // Keep so many sentences.
  cut(count) {
    for (const { element, block, before, label } of this.#parts.splice(count)) {
      for (const node of [element, before, label]) node?.remove();
      if (!block.querySelector(".s")) block.remove();
    }
    this.wait("");
  }

  add(sentence) {
    this.wait("");
    const last = this.#parts.at(-1);
    const turn = sentence.speaker !== (last ? last.speaker : null);
    const breaks = sentence.before.split("\n").length - 1;
    const isNew = !last || turn || breaks > 0 || last.block.childElementCount > BLOCK;
    const block = isNew ? this.#newBlock(turn || breaks > 1) : last.block;
    const label = turn && sentence.speaker ? speaker(sentence.speaker) : null;
    const before = isNew ? null : document.createTextNode(sentence.before);
    const element = marked(sentence);
    block.append(...[label, before, element].filter(Boolean));
    this.#parts.push({ element, block, before, label, speaker: sentence.speaker });
  }

  // Text that has not come to the end of a sentence.
  wait(text) {
    const around = this.#pending.parentElement;
    this.#pending.remove();
    if (around && !around.hasChildNodes()) around.remove();
    if (!text) return;
    this.#pending.textContent = ` ${text}`;
    (this.#parts.at(-1)?.block ?? this.#newBlock(false)).append(this.#pending);
  }

  element(number) { return this.#parts[number]?.element; }

  #newBlock(gap) {
    const block = document.createElement("p");
    block.className = gap ? "block gap" : "block";
    this.#blocks.append(block);
    return block;
  }
}

export function dress(mention) {
  const { element } = mention;
  element.className = ["m", `h${element.dataset.h}`, ...look(mention.entity)].join(" ");
  element.dataset.e = mention.entity;
  element.dataset.n = mention.entity;
}

function speaker(name) {
  const label = document.createElement("span");
  label.className = "speaker";
  label.textContent = `${name}: `;
  return label;
}

function marked(sentence) {
  const root = document.createElement("span");
  root.className = "s";
  const units = points(sentence.text);
  const say = (to, start, end) => {
    const text = units.slice(start, end);
    if (text.length) to.append(typeof text === "string" ? text : text.join(""));
  };
  const open = [{ element: root, end: sentence.end, height: 0 }];
  let place = sentence.start;
  const until = (target) => {
    for (;;) {
      const top = open.at(-1);
      const next = Math.min(top.end, target);
      say(top.element, place - sentence.start, next - sentence.start);
      place = next;
      if (open.length === 1 || top.end > target) return;
      open.pop();
      top.element.dataset.h = Math.min(top.height, HIGHEST);
      dress(top.mention);
      open.at(-1).height = Math.max(open.at(-1).height, top.height + 1);
    }
  };
  for (const mention of sentence.mentions) {
    until(mention.start);
    const element = document.createElement("span");
    element.tabIndex = -1;
    mention.element = element;
    mentionOf.set(element, mention);
    open.at(-1).element.append(element);
    open.push({ element, mention, height: 0, end: Math.min(mention.end, open.at(-1).end) });
  }
  until(sentence.end);
  return root;
}

const mentionOf = new WeakMap();

// The mention that an element of the page shows, or is in.
export const mentionAt = (element) => mentionOf.get(element?.closest?.(".m")) ?? null;
