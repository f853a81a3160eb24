// What the page knows of a session: sentences with their mentions, and entities. Takes in what the server tells and says
// what is new about it. Knows no page.

// Offsets count code points, and strings of the language count something else beyond the first 65,536.
export const points = (text) => /[\ud800-\udfff]/.test(text) ? Array.from(text) : text;
const part = (units, start, end) => {
  const cut = units.slice(start, end);
  return typeof cut === "string" ? cut : cut.join("");
};

export class Text {
  constructor() { this.clear(); }

  clear() {
    this.sentences = [];      // { number, start, end, speaker, before, text, mentions }
    this.entities = new Map();    // id -> { id, name, type, speaker, mentions }
    this.pending = "";
    this.rest = "";           // as pending, with the space before it
  }

  get length() { return this.sentences.reduce((sum, { before, text }) => sum + before.length + text.length, this.rest.length); }

  // All of it as a string; for those who want a part.
  get all() { return this.sentences.map(({ before, text }) => before + text).join("") + this.rest; }

  // Take in an answer. Gives: `kept`, how many sentences stay; `fresh`, those that follow; `moved`, mentions of kept
  // sentences that have another entity now; `gone`, entities that are no more.
  take(answer, since) {
    const told = this.#sentencesOf(answer);
    const gone = new Set(since ? [] : this.entities.keys());
    for (const { id, name = null, type = null, speaker = null } of answer.entities) {
      const known = this.entities.get(id);
      gone.delete(id);
      if (known) Object.assign(known, { name, type, speaker });
      else this.entities.set(id, { id, name, type, speaker, mentions: [] });
    }
    const { kept, moved } = since ? { kept: this.sentences.length, moved: [] } : this.#compare(told);
    const fresh = since ? told.filter(({ number }) => number >= since) : told.slice(kept);
    this.sentences.length = kept;
    for (const id of gone) this.entities.delete(id);
    if (!since) {
      for (const entity of this.entities.values()) entity.mentions = [];
      for (const sentence of this.sentences) this.#file(sentence);
    }
    return { kept, fresh, moved, gone };
  }

  // A fresh sentence is shown now, so it counts from now on.
  add(sentence) {
    this.sentences.push(sentence);
    this.#file(sentence);
  }

  #file({ mentions }) {
    for (const mention of mentions) this.entities.get(mention.entity).mentions.push(mention);
  }

  #sentencesOf({ text, text_start: shift, sentences: count, lines, entities }) {
    const units = points(text), first = count - lines.length;
    const found = [];
    let place = 0;
    for (const [number, { start, end, speaker }] of lines.entries()) {
      found.push({
        number: first + number, start, end, speaker, mentions: [],
        before: part(units, place, start - shift), text: part(units, start - shift, end - shift),
      });
      place = end - shift;
    }
    this.rest = part(units, place);
    this.pending = this.rest.trim();
    for (const entity of entities) {
      for (const mention of entity.mentions) {
        found[mention.sentence - first]?.mentions.push({ ...mention, entity: entity.id });
      }
    }
    for (const { mentions } of found) mentions.sort((a, b) => a.start - b.start || b.end - a.end);
    return found;
  }

  #compare(told) {
    const moved = [];
    let kept = 0;
    for (; kept < Math.min(told.length, this.sentences.length); kept++) {
      const old = this.sentences[kept], now = told[kept];
      const same = old.number === now.number && old.start === now.start && old.speaker === now.speaker &&
        old.before === now.before && old.text === now.text && old.mentions.length === now.mentions.length &&
        old.mentions.every(({ start, end }, i) => start === now.mentions[i].start && end === now.mentions[i].end);
      if (!same) break;
      for (const [i, mention] of old.mentions.entries()) {
        if (mention.entity === now.mentions[i].entity) continue;
        mention.entity = now.mentions[i].entity;
        moved.push(mention);
      }
    }
    return { kept, moved };
  }
}

// What an entity is called on the page.
export const called = (entity) => entity.name ?? entity.mentions[0]?.text ?? `entity ${entity.id}`;

// A colour and a kind of line for every entity, by its number; the number itself is shown too.
const COLOURS = 6, LINES = 4;
export const look = (id) => [`c${Number(id) % COLOURS}`, `s${Math.floor(Number(id) / COLOURS) % LINES}`];
