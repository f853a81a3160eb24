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

  // `session()` gives the one to write to; `recognise(text, name)` gives what a text is in and its turns;
  // `progress(done, all)` or `progress(null)` is told of long texts, `tell(message)` what was recognised.
  constructor({ form, words, speaker, speakers, session, recognise, progress, tell, complain }) {
    this.#form = form;
    this.#words = words;
    this.#speaker = speaker;
    this.speakers = speakers;
    this.#session = session;
    this.recognise = recognise;
    this.progress = progress;
    this.tell = tell;
    this.complain = complain;
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
    return this.take(await textOf(file), file.name);
  }

  // A text from elsewhere: turn by turn if it is a chat, a transcript or the like, else as running text.
  async take(text, name, otherwise = (plain) => this.pour(plain)) {
    const { format, about, turns } = text.trim() ? await this.recognise(text, name) : { format: "text" };
    if (format === "text") return otherwise(text);
    const speakers = new Set(turns.map(({ speaker }) => speaker).filter(Boolean)).size;
    this.tell(`Read as ${about}: ${counted(turns.length, "turn")}, ${counted(speakers, "speaker")}`);
    return this.#steps(turns.map((turn) => (session) => session.hear(turn)));
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
    return this.#steps(steps, BREATH);
  }

  #steps(steps, pause = 0) {
    return this.#next(async (session) => {
      for (const [number, step] of steps.entries()) {
        if (this.#stopped || session.closed) return;
        await step(session);
        this.progress(number + 1, steps.length);
        if (pause) await wait(pause);
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
    const isLong = text.length >= LONG;
    if (!isLong && !text.trim().includes("\n") && !/^\s*[[{]/.test(text)) return;
    event.preventDefault();
    const { value, selectionStart, selectionEnd } = this.#words;
    const insert = (plain) => {
      this.#words.setRangeText(plain, selectionStart, selectionEnd, "end");
      this.#typed();
    };
    const pour = (plain) => {
      this.#words.value = "";
      this.#fit();
      return this.pour(value.slice(0, selectionStart) + plain + value.slice(selectionEnd));
    };
    this.take(text, "the pasted text", isLong ? pour : insert).catch(this.complain);
  }

  #fit() { this.#form.classList.toggle("tall", this.#words.value.length > 160 || this.#words.value.includes("\n")); }
}

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

// How files begin that people may take for text.
const NO_TEXT = [
  ["%PDF-", "a PDF, not text: save it as text first"],
  ["PK\x03\x04", "a zip archive, as .docx and exported chats are: unpack it, or save it as text"],
  ["{\\rtf", "RTF, not text: save it as text first"],
  ["\x28\xb5\x2f\xfd", "compressed by zstd, which browsers can't read: unpack it first"],
];

// The text of a file, which may be compressed by gzip, in UTF-8 or marked as UTF-16.
async function textOf(file) {
  let data = new Uint8Array(await file.arrayBuffer());
  if (data[0] === 0x1f && data[1] === 0x8b) {
    try {
      const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("gzip"));
      data = new Uint8Array(await new Response(stream).arrayBuffer());
    } catch {
      throw new Error(`${file.name} is compressed by gzip, but damaged or cut off`);
    }
    if (data.length > LARGEST_FILE) throw new Error(`${file.name} is larger than ${LARGEST_FILE / 1e6} MB`);
  }
  const opening = String.fromCharCode(...data.subarray(0, 8));
  const other = NO_TEXT.find(([beginning]) => opening.startsWith(beginning));
  if (other) throw new Error(`${file.name} is ${other[1]}`);
  const mark = data[0] << 8 | data[1];
  const encoding = mark === 0xfffe ? "utf-16le" : mark === 0xfeff ? "utf-16be" : "utf-8";
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(data);
    if (!text.slice(0, 4_000).includes("\0")) return text;
  } catch { /* the same error: bytes that are no characters, or characters that are no text */ }
  throw new Error(`${file.name} is not UTF-8: save it as UTF-8, or try incoref resolve --encoding latin-1`);
}
