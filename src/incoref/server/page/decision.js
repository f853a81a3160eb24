// Why a mention is what it is: who it might have meant, and every step of the transition system over its sentence.

import { percent } from "./chains.js";
import { made } from "./entities.js";
import { called, look } from "./text.js";

const DOES = {
  PUSH: "a mention may start at this word",
  ADVANCE: "move to the next word",
  POP: "the mention that started last ends here",
  PEEK: "a mention ends here, and a longer one may start at the same word",
};

export class Decision {
  #dialog; #text; #ask; #act; #correct; #wanted = null;

  // `ask(start, end)` gives what the server knows; `correct(id)` goes to the entity's card. `act` has: mayCorrect(),
  // detach(mention), split(id, mentions), reassign(mention, id).
  constructor({ dialog, text, ask, act, correct }) {
    this.#dialog = dialog;
    this.#text = text;
    this.#ask = ask;
    this.#act = act;
    this.#correct = correct;
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => this.#wanted?.element.focus({ preventScroll: true }));
  }

  async show(mention) {
    this.#wanted = mention;
    const explanation = made("div", ["explanation"]);
    explanation.append(made("p", ["quiet"], { textContent: "Loading …", role: "status" }));
    this.#fill(mention, explanation);
    if (!this.#dialog.open) this.#dialog.showModal();
    // Only the explanation changes when the answer comes: what somebody has chosen by then stays chosen.
    try {
      const told = await this.#ask(mention.start, mention.end);
      explanation.replaceChildren(this.#candidates(told), this.#steps(told));
    } catch (error) {
      explanation.replaceChildren(made("p", ["wrong"], { textContent: error.message, role: "alert" }));
    }
  }

  #fill(mention, explanation) {
    const entity = this.#text.entities.get(mention.entity);
    const close = made("button", ["close"], { type: "button", textContent: "Close" });
    close.addEventListener("click", () => this.#dialog.close());
    const title = made("h2", [], { id: "decision-title" });
    title.append(`“${mention.text}” is `, made("span", ["tag", ...look(entity.id)], { textContent: entity.id }), ` ${called(entity)}`);
    const head = made("div", ["head"]);
    head.append(title, close);
    const facts = made("p", ["quiet"], { textContent: [
      `Sentence ${mention.sentence + 1}`,
      mention.confidence == null ? "" : `${mention.new ? "first mention" : "linked"} with ${percent(mention.confidence)}`,
      mention.mention_confidence == null ? "" : `a mention at all with ${percent(mention.mention_confidence)}`,
    ].filter(Boolean).join(" · ") });
    const correct = made("button", [], { type: "button", textContent: "Mentions, rename, merge" });
    correct.addEventListener("click", () => {
      this.#wanted = null;
      this.#dialog.close();
      this.#correct(mention.entity);
    });
    const link = this.#act.mayCorrect() ? [this.#relinking(mention, entity)] : [];
    this.#dialog.replaceChildren(head, facts, explanation, ...link, correct);
  }

  // A wrong link: the mention means another entity, or is a new one, alone or with all that come after it.
  #relinking(mention, entity) {
    const later = entity.mentions.filter(({ start, end }) => start > mention.start || (start === mention.start && end < mention.end));
    const alone = entity.mentions.length === 1;
    const form = made("form", ["row", "relink"]);
    const choice = made("select", [], { ariaLabel: "Correct entity" });
    choice.append(new Option("Refers to …", ""));
    if (!alone) choice.append(new Option("a new entity", "new"));
    if (later.length && later.length < entity.mentions.length - 1) {
      choice.append(new Option(`a new entity, with the ${later.length} mentions after it`, "rest"));
    }
    for (const other of this.#text.entities.values()) {
      if (other.id !== entity.id) choice.append(new Option(`${called(other)} (${other.id})`, `is ${other.id}`));
    }
    form.append(choice, made("button", [], { textContent: "Correct" }));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const wanted = choice.value;
      if (!wanted) return;
      const done = wanted === "new" ? await this.#act.detach(mention)
        : wanted === "rest" ? await this.#act.split(entity.id, [mention, ...later])
        : await this.#act.reassign(mention, wanted.slice(3));
      if (done && this.#wanted === mention && this.#dialog.open) this.show(mention);
    });
    return form;
  }

  #candidates({ candidates, mention }) {
    const table = made("table", ["candidates"]);
    table.createCaption().textContent = "Candidates";
    table.createTHead().insertRow().append(header("Entity"), header("Probability"));
    const body = table.createTBody();
    for (const { entity, name, probability, chosen } of candidates) {
      const row = body.insertRow();
      row.className = chosen ? "chosen" : "";
      const known = this.#text.entities.get(entity);
      const who = made("th", [], { scope: "row" });
      if (entity === null) who.append("a new entity");
      else who.append(made("span", ["tag", ...look(entity)], { textContent: entity }), ` ${known ? called(known) : name ?? "removed"}`);
      if (chosen) who.append(made("span", ["quiet"], { textContent: mention.new ? " (new, chosen)" : " (chosen)" }));
      const bar = made("span", ["share"]);
      bar.style.inlineSize = `${100 * (probability ?? 0)}%`;
      const cell = row.appendChild(who) && row.insertCell();
      cell.append(probability == null ? "–" : percent(probability), bar);
    }
    return table;
  }

  #steps({ tokens, trace, mention }) {
    const section = made("section", [], { ariaLabel: "How it was found" });
    section.append(made("h3", [], { textContent: "How it was found, step by step" }));
    if (!trace.length) {
      section.append(made("p", ["quiet"], { textContent: "This session doesn't record its steps." }));
      return section;
    }
    const found = trace.findIndex((step) => step.mention?.[0] === mention.tokens[0] && step.mention[1] === mention.tokens[1]);
    const stepper = new Stepper(tokens, trace, found);
    section.append(...stepper.parts);
    return section;
  }
}

class Stepper {
  #tokens; #trace; #found; #shown = -1;

  constructor(tokens, trace, found) {
    this.#tokens = tokens;
    this.#trace = trace;
    this.#found = found;
    this.back = made("button", [], { type: "button", textContent: "‹", ariaLabel: "Previous step" });
    this.on = made("button", [], { type: "button", textContent: "›", ariaLabel: "Next step" });
    this.slider = made("input", [], { type: "range", min: 1, max: trace.length, ariaLabel: "Step" });
    this.place = made("output");
    this.back.addEventListener("click", () => this.#show(this.#shown - 1));
    this.on.addEventListener("click", () => this.#show(this.#shown + 1));
    this.slider.addEventListener("input", () => this.#show(Number(this.slider.value) - 1));
    const bar = made("div", ["steps"]);
    bar.append(this.back, this.slider, this.on, this.place);
    this.words = made("p", ["strip"]);
    for (const { text } of tokens) this.words.append(made("span", [], { textContent: text }), " ");
    this.told = made("p", ["told"], { ariaLive: "polite" });
    const scrolled = made("div", ["scrolled"], { tabIndex: 0, role: "region", ariaLabel: "All steps" });
    scrolled.append(this.#table());
    this.parts = [bar, this.words, this.told, scrolled];
    this.#show(Math.max(0, found), false);
  }

  #word(number) { return this.#tokens[number - this.#tokens[0].number]?.text ?? "…"; }

  #table() {
    const table = made("table", ["trace"]);
    table.createTHead().insertRow().append(...["Step", "Stack", "Buffer", "Action", "Probability"].map(header));
    const body = table.createTBody();
    this.rows = this.#trace.map(({ action, token, stack, probabilities }, number) => {
      const row = body.insertRow();
      if (number === this.#found) row.className = "found";
      const buffer = this.#tokens.slice(token - this.#tokens[0].number).map(({ text }) => text);
      const short = buffer.length > 4 ? [...buffer.slice(0, 4), "…"] : buffer;
      for (const value of [number + 1, stack.map((at) => this.#word(at)).join(" | ") || "∅", short.join(" "), action,
        percent(probabilities[action])]) row.insertCell().textContent = value;
      row.addEventListener("click", () => this.#show(number));
      return row;
    });
    return table;
  }

  #show(number, scroll = true) {
    number = Math.min(this.#trace.length - 1, Math.max(0, number));
    this.rows[this.#shown]?.classList.remove("now");
    this.rows[number].classList.add("now");
    if (scroll) this.rows[number].scrollIntoView({ block: "nearest" });
    this.#shown = number;
    this.slider.value = number + 1;
    this.back.disabled = number === 0;
    this.on.disabled = number === this.#trace.length - 1;
    this.place.textContent = `${number + 1} / ${this.#trace.length}`;
    const { action, token, stack, probabilities, mention } = this.#trace[number];
    const first = this.#tokens[0].number;
    for (const [i, element] of [...this.words.children].entries()) {
      element.className = [
        i < token - first ? "read" : "", i === token - first ? "cursor" : "", stack.includes(first + i) ? "stacked" : "",
        mention && i >= mention[0] - first && i < mention[1] - first ? "span" : "",
      ].filter(Boolean).join(" ");
    }
    const others = Object.entries(probabilities).filter(([name]) => name !== action).sort(([, a], [, b]) => b - a);
    this.told.replaceChildren(made("b", [], { textContent: action }), ` ${percent(probabilities[action])}: ${DOES[action]}`,
      made("span", ["quiet"], { textContent: others.length ? ` (${others.map(([name, p]) => `${name} ${percent(p)}`).join(", ")})` : " (nothing else is possible)" }));
  }
}

function header(words) { return made("th", [], { textContent: words, scope: "col" }); }
