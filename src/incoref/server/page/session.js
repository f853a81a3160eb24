// A session on the server, followed as it changes: what it knows is asked for from the first unknown sentence on, or
// comes with the answer to text that the page has sent. Changes are sent one after the other, under sequence numbers, until they are answered. Knows no page.

import { Problem, wait } from "./api.js";

const OPTIONS = { trace: true, runners_up: 4, undo: 100 };
const PIECE = 2_000;
const FIRST_PAUSE = 250, LONGEST_PAUSE = 3_000;
const NOTHING = 0, MORE = 1, ALL = 2;
const AT_REST = 3;    // between two looks, so many times what the last one took: reading comes first
const MANY = 10, BREATH = 400;    // when so many sentences came at once, more will come: no sooner than this is shown more

export class Session {
  #api; #hear; #closed = new AbortController();
  #queue = Promise.resolve();
  #wanted = NOTHING; #looking = null;
  #synced = 0; #all = 0; #latest = 0;
  #adding = 0; #answered = null;

  // `hear` has: state(name), which is live, away or gone; begun(id); changed(answer, since); refused(error).
  constructor(api, hear, { id = null, view = null } = {}) {
    this.#api = api;
    this.#hear = hear;
    this.id = id;
    this.view = view;
    this.sequence = 0;
    this.sentences = 0;
    if (id !== null || view !== null) this.opened = this.#open();
  }

  get path() { return this.view === null ? `/v1/sessions/${this.id}` : `/v1/shared/${this.view}`; }
  get closed() { return this.#closed.signal.aborted; }

  close() { this.#closed.abort(); }

  // Running text; with `ends`, the sentence ends with it whatever follows.
  feed(text, speaker, { ends = false } = {}) {
    const fed = this.#add("/feed", { text, speaker: speaker || null, final: false });
    return ends ? fed.then(() => this.flush()) : fed;
  }

  say(text, speaker) { return this.#add("/feed", { text, speaker: speaker || null }); }
  // A turn that the server recognised.
  hear({ text, speaker, id, time }) { return this.#add("/feed", { text, speaker, id, time }); }
  flush() { return this.#add("/flush", {}); }
  // Whoever waits for it may look at what is left: the event that tells of it can come later.
  undo() { return this.#send("POST", "/undo", {}).then(() => this.#look(ALL)); }
  rename(entity, name) { return this.#send("PATCH", `/entities/${encodeURIComponent(entity)}`, { name }); }
  merge(entity, other) { return this.#send("POST", `/entities/${encodeURIComponent(entity)}/merge`, { other }); }
  // A mention is told by its place. Whoever waits may look at the mention again: the event can come later.
  detach({ start, end }) { return this.#send("POST", "/mentions/detach", { start, end }).then(() => this.#look(ALL)); }
  reassign({ start, end }, entity) {
    return this.#send("POST", "/mentions/reassign", { start, end, entity }).then(() => this.#look(ALL));
  }
  split(entity, mentions) {
    const places = mentions.map(({ start, end }) => ({ start, end }));
    return this.#send("POST", `/entities/${encodeURIComponent(entity)}/split`, { mentions: places }).then(() => this.#look(ALL));
  }

  // A long text in pieces, each cut after a space if there is one. `told(done, all)` may answer false to stop.
  async pour(text, speaker, told) {
    for (let place = 0; place < text.length;) {
      let end = Math.min(text.length, place + PIECE);
      if (end < text.length) {
        const space = text.lastIndexOf(" ", end);
        if (space > place) end = space + 1;
        else if (/[\ud800-\udbff]/.test(text[end - 1])) end -= 1;
      }
      await this.feed(text.slice(place, end), speaker);
      place = end;
      if (told(place, text.length) === false) break;
    }
    await this.flush();
  }

  decision(start, end) { return this.#api.json(`${this.path}/decision?start=${start}&end=${end}`); }
  export(format, singletons) { return this.#api.fetch(`${this.path}/export?format=${format}&singletons=${singletons}`); }
  share() { return this.#api.json(`${this.path}/share`, { method: "POST" }); }
  unshare() { return this.#api.fetch(`${this.path}/share`, { method: "DELETE" }); }

  // All that was asked for has been told to `hear`.
  async settled() {
    await this.#queue;
    while (this.#looking) await this.#looking;
  }

  // Ask what the session knows: all of it, or what came after the last known sentence.
  #look(wanted) {
    this.#wanted = Math.max(this.#wanted, wanted);
    this.#looking ??= this.#lookUntilDone().finally(() => {
      this.#looking = null;
      if (this.#wanted !== NOTHING && !this.closed) this.#look(NOTHING);    // asked for at the very end
    });
    return this.#looking;
  }

  async #lookUntilDone() {
    while (this.#wanted !== NOTHING && !this.closed) {
      const since = this.#wanted === ALL ? 0 : this.sentences, begun = performance.now();
      let answer = this.#wanted === ALL ? null : this.#news();
      if (this.#wanted === MORE && answer === null && this.#latest <= this.#synced) { this.#wanted = NOTHING; return; }
      this.#wanted = NOTHING;
      try {
        answer ??= await this.#patiently(() => this.#api.json(`${this.path}?since=${since}`));
      } catch (error) {
        this.#fail(error);
        return;
      }
      if (this.closed) return;
      if (answer.sentences < since) { this.#wanted = ALL; continue; }
      this.#synced = answer.event;
      if (!since) this.#all = answer.event;
      this.sentences = answer.sentences;
      this.sequence = Math.max(this.sequence, answer.sequence ?? 0);
      await this.#hear.changed(answer, since);
      if (this.#wanted === NOTHING) return;
      await wait(Math.max(answer.lines.length > MANY ? BREATH : 0, AT_REST * Math.min(300, performance.now() - begun)));
    }
  }

  // The state that came with the last answer, if it goes on from what is known and nothing has happened since.
  #news() {
    const answered = this.#answered;
    this.#answered = null;
    if (answered === null || answered.since > this.sentences) return null;
    const { event, sentences } = answered.state;
    return event > this.#synced && event >= this.#latest && sentences >= this.sentences ? answered.state : null;
  }

  async #open() {
    await this.#look(ALL);
    if (!this.closed) this.#follow();
  }

  // Events say that something changed, whoever changed it.
  async #follow() {
    let pause = FIRST_PAUSE;
    while (!this.closed) {
      try {
        const options = {
          signal: this.#closed.signal,
          opened: () => { pause = FIRST_PAUSE; this.#hear.state("live"); },
        };
        for await (const event of this.#api.events(`${this.path}/events?after=${this.#synced}`, options)) {
          if (event.name === "end") { this.#fail(new Problem(404, {})); return; }
          this.#latest = event.name === "reset" ? event.id : Math.max(this.#latest, event.id);
          if (event.name === "updates") {
            // Of the page's own text, the answer tells more.
            if (event.id > this.#synced && !this.#adding) this.#look(MORE);
          } else if (event.id > this.#all || event.name === "reset") this.#look(ALL);
        }
      } catch (error) {
        if (this.closed) return;
        if (error instanceof Problem && !error.passing) { this.#fail(error); return; }
      }
      if (this.closed) return;
      this.#hear.state("away");
      await wait(pause);
      pause = Math.min(LONGEST_PAUSE, 2 * pause);
    }
  }

  async #begin() {
    const { id } = await this.#patiently(() => this.#api.json("/v1/sessions", { method: "POST", body: { options: OPTIONS } }));
    if (this.closed) throw new Error("another session was started");
    this.id = id;
    this.#hear.begun(id);
    this.opened = this.#open();
    await this.opened;
  }

  // Text: the answer brings what the session knows from the first unknown sentence on.
  #add(place, body) {
    return this.#send("POST", place, body, async (ask) => {
      const since = this.sentences;
      this.#adding++;
      try {
        const { state } = await ask(`?since=${since}`);
        this.#latest = Math.max(this.#latest, state.event);
        this.#answered = { since, state };
      } finally {
        this.#adding--;
        this.#look(MORE);
      }
    });
  }

  #send(method, place, body, asking = (ask) => ask("")) {
    const sent = this.#queue.then(async () => {
      if (this.id === null) await this.#begin();
      await this.opened;
      let sequence = ++this.sequence;
      return asking((query) => this.#patiently(async () => {
        try {
          return await this.#api.json(this.path + place + query, { method, body: { ...body, sequence } });
        } catch (error) {
          // Another page has written to the session: this request was not carried out under its number.
          if (!(error instanceof Problem && error.is("sequence-conflict"))) throw error;
          sequence = this.sequence = error.told.last + 1;
          throw new Problem(503, error.told, 0);
        }
      }));
    });
    this.#queue = sent.catch((error) => this.#fail(error));
    return sent;
  }

  // Again and again while the server can't be reached or has too much to do.
  async #patiently(ask) {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, 2 * pause)) {
      try {
        return await ask();
      } catch (error) {
        if (this.closed || (error instanceof Problem && !error.passing)) throw error;
        if (!(error instanceof Problem)) this.#hear.state("away");
        await wait(Math.max(pause, 1000 * (error.retryAfter ?? 0)));
      }
    }
  }

  #fail(error) {
    if (this.closed) return;
    if (error instanceof Problem && error.status === 404 && !error.message.includes("mention")) {
      this.close();
      this.#hear.state("gone");
    } else this.#hear.refused(error);
  }
}
