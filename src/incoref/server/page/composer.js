// Where text comes from: typing, pasting, a file, an example. What is typed goes off when a sentence ends; what is long
// goes off in pieces. Knows sessions and its own form.

import { wait } from "./api.js";

const LONG = 600;            // characters from which on a pasted text goes straight to the session
const PAUSE = 1_200;         // after so long, a sentence that looks ended has ended
const BREATH = 450;          // between the sentences of an example
const LARGEST_FILE = 5_000_000;
// A guess at when to send; where sentences of longer texts end is the server's to say.
const ENDED = /[.!?…]["'”’»)\]]*\s+(?=["'“‘«([]?[\p{Lu}\p{N}])/gu;
const LOOKS_ENDED = /[.!?…]["'”’»)\]]*\s*$/u;
const ABBREVIATED = /(?:^|[\s("“])(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Inc|Ltd|Co|Corp|vs|etc|e\.g|i\.e|cf|al|No|Fig|[A-Z]|(?:[A-Z]\.)+[A-Z])\.\s*$/u;

export class Composer {
  #form; #words; #speaker; #session; #known = new Set();
  #timer = null; #busy = Promise.resolve(); #stopped = false;

  // `session()` gives the one to write to; `progress(done, all)` or `progress(null)` is told of long texts.
  constructor({ form, words, speaker, speakers, session, progress }) {
    this.#form = form;
    this.#words = words;
    this.#speaker = speaker;
    this.speakers = speakers;
    this.#session = session;
    this.progress = progress;
    form.addEventListener("submit", (event) => { event.preventDefault(); this.#all(); });
    words.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.#all(); }
    });
    words.addEventListener("input", (event) => { if (!event.isComposing) this.#typed(); });
    words.addEventListener("compositionend", () => this.#typed());
    words.addEventListener("paste", (event) => this.#pasted(event));
  }

  // Speakers of the text can be chosen again.
  know(speaker) {
    if (!speaker || this.#known.has(speaker)) return;
    this.#known.add(speaker);
    this.speakers.append(new Option(speaker));
  }

  clear() {
    this.stop();
    this.#words.value = "";
    this.#speaker.value = "";
    this.#known.clear();
    this.speakers.replaceChildren();
    clearTimeout(this.#timer);
  }

  // Text that was taken back; it goes off again when someone adds to it.
  putBack(text) {
    clearTimeout(this.#timer);
    const kept = this.#words.value;
    this.#words.value = text.trim() + (kept ? ` ${kept}` : "");
    this.#words.focus();
    this.#fit();
  }

  stop() { this.#stopped = true; }

  async read(file) {
    if (file.size > LARGEST_FILE) throw new Error(`${file.name} is larger than ${LARGEST_FILE / 1e6} MB`);
    this.pour(await file.text());
  }

  pour(text) {
    const speaker = this.#speaker.value.trim();
    return this.#next((session) => session.pour(text.replaceAll("\r\n", "\n"), speaker, (done, all) => {
      this.progress(done, all);
      return !this.#stopped && !session.closed;
    }));
  }

  // An example: turns, each with its speaker, or paragraphs of sentences.
  play({ turns = [], paragraphs = [] }) {
    const steps = [
      ...turns.map(([speaker, words]) => (session) => session.say(words, speaker)),
      ...paragraphs.flatMap((sentences) => sentences.map((sentence, i) => (session) =>
        session.feed(sentence + (i < sentences.length - 1 ? " " : "\n\n"), null, { ends: true }))),
    ];
    return this.#next(async (session) => {
      for (const [number, step] of steps.entries()) {
        if (this.#stopped || session.closed) return;
        await step(session);
        this.progress(number + 1, steps.length);
        await wait(BREATH);
      }
    });
  }

  // One after the other, so that a sentence that is typed does not land in the middle of a file.
  #next(work) {
    const session = this.#session();
    const done = this.#busy.then(async () => {
      this.#stopped = false;
      try {
        await work(session);
      } finally {
        this.progress(null);
      }
    });
    this.#busy = done.catch(() => {});    // the session has told what was refused
    return this.#busy;
  }

  #typed() {
    this.#fit();
    clearTimeout(this.#timer);
    const { value, selectionStart } = this.#words;
    if (selectionStart !== value.length) return;    // someone is still changing it
    let end = 0;
    for (const found of value.matchAll(ENDED)) {
      const after = found.index + found[0].length;
      if (!ABBREVIATED.test(value.slice(0, after))) end = after;
    }
    if (end) this.#send(end);
    const rest = this.#words.value;
    if (LOOKS_ENDED.test(rest) && !ABBREVIATED.test(rest)) {
      this.#timer = setTimeout(() => this.#send(this.#words.value.length, " "), PAUSE);
    }
  }

  #all() {
    clearTimeout(this.#timer);
    if (this.#words.value.trim()) this.#send(this.#words.value.length, "\n");
  }

  #send(end, after = "") {
    const { value } = this.#words;
    const speaker = this.#speaker.value.trim();
    this.know(speaker);
    const text = value.slice(0, end);
    this.#words.value = value.slice(end);
    this.#fit();
    this.#next((session) => session.feed(after ? text.trimEnd() + after : text, speaker, { ends: true }));
  }

  #pasted(event) {
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text.length < LONG) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = this.#words;
    this.#words.value = "";
    this.#fit();
    this.pour(value.slice(0, selectionStart) + text + value.slice(selectionEnd));
  }

  #fit() { this.#form.classList.toggle("tall", this.#words.value.length > 160 || this.#words.value.includes("\n")); }
}
