// The server's HTTP API: requests, refusals as errors, events as they come. Knows nothing of what they mean.

export class Problem extends Error {
  constructor(status, told, retryAfter) {
    super(told.detail ?? told.title ?? `the server answered ${status}`);
    this.status = status;
    this.told = told;
    this.retryAfter = retryAfter;
  }

  is(kind) { return this.told.type === `urn:incoref:problem:${kind}`; }

  // Whether the same request may go through a little later.
  get passing() { return this.status === 429 ? !this.is("too-many-sessions") : [502, 503, 504].includes(this.status); }
}

export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const SILENCE = 40_000;    // the server says something every 15 seconds

export class Api {
  #asked = null;

  constructor(askForToken) {
    this.askForToken = askForToken;
    this.token = sessionStorage.getItem("incoref-token");
  }

  async fetch(path, { method = "GET", body, signal } = {}) {
    for (;;) {
      const headers = {};
      if (this.token !== null) headers.authorization = `Bearer ${this.token}`;
      if (body !== undefined) headers["content-type"] = "application/json";
      const answer = await fetch(path, {
        method, headers, signal, cache: "no-store", body: body === undefined ? undefined : JSON.stringify(body),
      });
      if (answer.ok) return answer;
      if (answer.status === 401) { await this.#newToken(); continue; }
      const told = await answer.json().catch(() => ({}));
      throw new Problem(answer.status, told, Number(answer.headers.get("retry-after")) || 0);
    }
  }

  async json(path, options) { return (await this.fetch(path, options)).json(); }

  // One question, however many requests wait for its answer.
  async #newToken() {
    this.#asked ??= this.askForToken();
    this.token = await this.#asked;
    this.#asked = null;
    sessionStorage.setItem("incoref-token", this.token);
  }

  // Server-sent events. Not EventSource, which can't send a token.
  async *events(path, { signal, opened }) {
    const cut = new AbortController();
    const stop = () => cut.abort();
    signal.addEventListener("abort", stop);
    let silence = setTimeout(stop, SILENCE);
    try {
      const answer = await this.fetch(path, { signal: cut.signal });
      opened();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE);
        const parts = (rest + value).split("\n\n");
        rest = parts.pop();
        for (const part of parts) {
          const event = parsed(part);
          if (event.name) yield event;
        }
      }
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", stop);
      stop();
    }
  }
}

function parsed(part) {
  const fields = {};
  for (const line of part.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) fields[line.slice(0, at)] = line.slice(at + 2);
  }
  return { name: fields.event, id: Number(fields.id) || 0, data: fields.data };
}
