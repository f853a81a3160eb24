// The list of entities beside the text: name, mentions, first and last place; opened, an entity can be corrected.
// Only the rows of entities that changed are touched. Knows no server.

import { called, look } from "./text.js";

const SHOWN_MENTIONS = 60;

export class EntityList {
  #text; #act; #list; #rows = new Map(); #opened = null;
  #find; #several;

  // `act` has: light(id), leave(), hold(id), visit(mention), mayCorrect(), rename(id, name), merge(id, other).
  constructor({ text, list, find, several, act }) {
    this.#text = text;
    this.#list = list;
    this.#act = act;
    this.#find = find;
    this.#several = several;
    find.addEventListener("input", () => this.#filter());
    several.addEventListener("change", () => this.#filter());
  }

  clear() {
    this.#list.replaceChildren();
    this.#rows.clear();
    this.#opened = null;
  }

  mark(id, on) { this.#rows.get(id)?.button.classList.toggle("on", on); }

  remove(id) {
    this.#rows.get(id)?.item.remove();
    this.#rows.delete(id);
    if (this.#opened === id) this.#opened = null;
  }

  update(ids) {
    for (const id of ids) {
      const entity = this.#text.entities.get(id);
      if (!entity) { this.remove(id); continue; }
      const row = this.#rows.get(id) ?? this.#newRow(entity);
      row.name.textContent = called(entity);
      row.type.textContent = [entity.type, speaks(entity)].filter(Boolean).join(" · ");
      row.count.textContent = entity.mentions.length;
      row.count.title = entity.mentions.length === 1 ? "1 mention" : `${entity.mentions.length} mentions`;
      row.places.textContent = places(entity);
      row.item.hidden = !this.#wanted(entity);
      if (this.#opened === id && !row.card.contains(document.activeElement)) this.#fill(row, entity);
    }
  }

  // Show an entity's card.
  open(id) {
    const row = this.#rows.get(id);
    if (!row) return;
    if (this.#opened !== id) this.#toggle(id);
    row.button.scrollIntoView({ block: "nearest" });
    row.button.focus();
  }

  #newRow(entity) {
    const item = document.createElement("li");
    const button = made("button", ["e", ...look(entity.id)], { type: "button", ariaExpanded: "false" });
    const number = made("span", ["n"], { textContent: entity.id });
    const name = made("span", ["name"]);
    const places = made("span", ["places"]);
    const type = made("span", ["type"]);
    const count = made("span", ["count"]);
    button.append(number, name, count, places, type);
    const card = made("div", ["card"], { hidden: true });
    item.append(button, card);
    const { id } = entity;
    button.addEventListener("pointerenter", () => this.#act.light(id));
    button.addEventListener("pointerleave", () => this.#act.leave());
    button.addEventListener("focus", () => this.#act.light(id));
    button.addEventListener("blur", () => this.#act.leave());
    button.addEventListener("click", () => this.#toggle(id));
    const row = { item, button, name, places, type, count, card };
    // In order of numbers, which is that of appearance; most come last.
    let after = this.#list.lastElementChild;
    while (after && Number(after.dataset.id) > Number(id)) after = after.previousElementSibling;
    item.dataset.id = id;
    if (after) after.after(item); else this.#list.prepend(item);
    this.#rows.set(id, row);
    return row;
  }

  #toggle(id) {
    const before = this.#rows.get(this.#opened);
    if (before) {
      before.card.hidden = true;
      before.button.ariaExpanded = "false";
    }
    const row = this.#rows.get(id);
    this.#opened = this.#opened === id ? null : id;
    this.#act.hold(this.#opened);
    if (this.#opened === null) return;
    row.card.hidden = false;
    row.button.ariaExpanded = "true";
    this.#fill(row, this.#text.entities.get(id));
  }

  #fill({ card }, entity) {
    const parts = [];
    if (this.#act.mayCorrect()) parts.push(this.#renaming(entity), this.#merging(entity));
    const list = made("ol", ["said"], { ariaLabel: "Mentions" });
    for (const mention of entity.mentions.slice(0, SHOWN_MENTIONS)) {
      const button = made("button", [], { type: "button" });
      button.append(made("span", ["words"], { textContent: mention.text }), ` sentence ${mention.sentence + 1}`);
      button.addEventListener("click", () => this.#act.visit(mention));
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    const more = entity.mentions.length - SHOWN_MENTIONS;
    if (more > 0) list.append(made("li", [], { textContent: `and ${more} more` }));
    card.replaceChildren(...parts, list);
  }

  #renaming(entity) {
    const form = made("form", ["row"]);
    const field = made("input", [], { type: "text", value: called(entity), maxLength: 200, required: true, ariaLabel: "Name" });
    form.append(field, made("button", [], { textContent: "Rename" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (field.value.trim()) this.#act.rename(entity.id, field.value.trim());
    });
    return form;
  }

  #merging(entity) {
    const form = made("form", ["row"]);
    const choice = made("select", [], { ariaLabel: `Merge ${called(entity)} with` });
    choice.append(new Option("Same as …", ""));
    for (const other of this.#text.entities.values()) {
      if (other.id !== entity.id) choice.append(new Option(`${called(other)} (${other.id})`, other.id));
    }
    form.append(choice, made("button", [], { textContent: "Merge" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (choice.value) this.#act.merge(entity.id, choice.value);
    });
    return form;
  }

  #wanted(entity) {
    const words = this.#find.value.trim().toLowerCase();
    return entity.mentions.length > (this.#several.checked ? 1 : 0) || (!entity.mentions.length && !this.#several.checked)
      ? !words || called(entity).toLowerCase().includes(words)
      : false;
  }

  #filter() {
    for (const [id, { item }] of this.#rows) item.hidden = !this.#wanted(this.#text.entities.get(id));
  }
}

// Whose “I” it is.
function speaks(entity) {
  if (!entity.speaker) return "";
  return entity.speaker === called(entity) ? "speaks" : `speaks as ${entity.speaker}`;
}

function places({ mentions }) {
  if (!mentions.length) return "not mentioned yet";
  const [first, last] = [mentions[0].sentence + 1, mentions.at(-1).sentence + 1];
  return first === last ? `sentence ${first}` : `sentences ${first}–${last}`;
}

export function made(kind, classes = [], properties = {}) {
  const element = document.createElement(kind);
  element.classList.add(...classes);
  return Object.assign(element, properties);
}
