"use strict";
(() => {
  const root = document.getElementById("text");
  const about = document.getElementById("about");
  const sentences = [...root.querySelectorAll(".s")];
  const pieces = new Map();    // entity -> all its elements in the text
  const starts = new Map();    // entity -> the first elements of its mentions, in order
  const mentions = [];         // the first elements of all mentions, in order
  for (const element of root.querySelectorAll(".m")) {
    const entity = element.dataset.e;
    if (!pieces.has(entity)) { pieces.set(entity, []); starts.set(entity, []); }
    pieces.get(entity).push(element);
    if (!("more" in element.dataset)) { starts.get(entity).push(element); mentions.push(element); }
  }
  const buttons = new Map([...document.querySelectorAll(".e")].map((button) => [button.dataset.e, button]));
  const numberOf = new Map(mentions.map((element, number) => [element, number]));
  const sentenceOf = (element) => Number(element.closest(".s").dataset.i);
  const last = sentences.length;
  let shown = last, lit = null, pinned = null, timer = null;

  // A chain lights up.
  function light(entity, element) {
    if (lit !== entity) {
      for (const old of pieces.get(lit) ?? []) old.classList.remove("on");
      buttons.get(lit)?.classList.remove("on");
      for (const piece of pieces.get(entity) ?? []) piece.classList.add("on");
      buttons.get(entity)?.classList.add("on");
      root.classList.toggle("lit", entity !== null);
      lit = entity;
    }
    describe(entity, element);
  }
  function describe(entity, element) {
    about.replaceChildren();
    if (entity === null) { about.textContent = about.dataset.hint; return; }
    const button = buttons.get(entity), chain = starts.get(entity) ?? [];
    const name = document.createElement("b");
    name.textContent = button.querySelector(".name").textContent;
    const facts = [button.querySelector(".type").textContent.trim()];
    const place = chain.indexOf(element);
    if (place < 0) facts.push(chain.length === 1 ? "1 mention" : `${chain.length} mentions`);
    else {
      facts.push(`mention ${place + 1} of ${chain.length}`);
      if (element.dataset.c) facts.push(`${element.dataset.new ? "new" : "linked"} with ${element.dataset.c}%`);
      if (element.dataset.mc) facts.push(`a mention with ${element.dataset.mc}%`);
    }
    about.append(name, ` · ${facts.filter(Boolean).join(" · ")}`);
  }
  const back = () => light(pinned, null);
  function pin(entity, element) {
    const before = pinned;
    pinned = pinned === entity ? null : entity;
    for (const name of [before, pinned]) buttons.get(name)?.setAttribute("aria-pressed", String(name === pinned));
    light(pinned ?? entity, element);
  }
  const head = (element) => (!element || !("more" in element.dataset)) ? element :
    starts.get(element.dataset.e).findLast((start) => numberOf.has(start) &&
      start.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING) ?? element;
  const mentionAt = (event) => {
    const element = event.target.closest(".m");
    return element && sentenceOf(element) < shown ? head(element) : null;
  };
  root.addEventListener("mouseover", (event) => {
    const element = mentionAt(event);
    if (element) light(element.dataset.e, element); else back();
  });
  root.addEventListener("mouseleave", back);
  root.addEventListener("focusin", (event) => { const e = mentionAt(event); if (e) light(e.dataset.e, e); });
  root.addEventListener("focusout", back);
  root.addEventListener("click", (event) => { const e = mentionAt(event); if (e) { pin(e.dataset.e, e); stop(e); } });
  for (const [entity, button] of buttons) {
    button.addEventListener("mouseenter", () => light(entity, null));
    button.addEventListener("mouseleave", back);
    button.addEventListener("focus", () => light(entity, null));
    button.addEventListener("blur", back);
    button.addEventListener("click", () => {
      pin(entity, null);
      const first = starts.get(entity)?.[0];
      if (pinned && first) first.scrollIntoView({ block: "center" });
    });
  }

  // One mention can be reached with Tab; arrows go on from there.
  function stop(element) {
    root.querySelector('.m[tabindex="0"]')?.setAttribute("tabindex", "-1");
    element.setAttribute("tabindex", "0");
  }
  if (mentions.length) stop(mentions[0]);
  root.addEventListener("keydown", (event) => {
    const element = mentionAt(event);
    if (!element) return;
    const chain = starts.get(element.dataset.e);
    const steps = {
      ArrowRight: [mentions, 1], ArrowLeft: [mentions, -1], ArrowDown: [chain, 1], ArrowUp: [chain, -1],
    }[event.key];
    if (steps) {
      const next = steps[0][steps[0].indexOf(element) + steps[1]];
      if (next && sentenceOf(next) < shown) { stop(next); next.focus(); }
    } else if (event.key === "Enter" || event.key === " ") pin(element.dataset.e, element);
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { pinned !== null && pin(pinned, null); light(null, null); }
  });

  // The replay.
  const slider = document.getElementById("slider"), output = document.getElementById("place");
  const play = document.getElementById("play");
  const rows = [...buttons].map(([entity, button]) => {
    const places = (starts.get(entity) ?? []).map(sentenceOf);
    return {
      item: button.parentElement, count: button.querySelector(".count"), places, so_far: places.length,
      words: button.textContent.toLowerCase(),
    };
  });
  function show(count, follow) {
    const [from, to] = count < shown ? [count, shown] : [shown, count];
    sentences[shown - 1]?.classList.remove("now");
    for (let i = from; i < to; i++) sentences[i].classList.toggle("later", i >= count);
    shown = count;
    slider.value = count;
    slider.setAttribute("aria-valuetext", `sentence ${count} of ${last}`);
    output.textContent = `${count} / ${last}`;
    if (count < last || timer !== null) {
      sentences[count - 1].classList.add("now");
      if (follow) sentences[count - 1].scrollIntoView({ block: "nearest" });
    }
    for (const row of rows) {
      const so_far = count === last ? row.places.length : row.places.filter((place) => place < count).length;
      if (so_far !== row.so_far) { row.so_far = so_far; row.count.textContent = so_far; }
    }
    filter();
  }
  function pause() { clearTimeout(timer); timer = null; play.textContent = "▶"; play.setAttribute("aria-label", "Replay"); show(shown, false); }
  function tick() {
    if (shown >= last) { pause(); return; }
    show(shown + 1, true);
    timer = setTimeout(tick, 350 + 45 * sentences[shown - 1].textContent.split(/\s+/).length);
  }
  play.addEventListener("click", () => {
    if (timer !== null) { pause(); return; }
    play.textContent = "❚❚"; play.setAttribute("aria-label", "Pause");
    timer = 0;
    if (shown >= last) show(1, true);
    timer = setTimeout(tick, 900);
  });
  let asked = false;
  slider.addEventListener("input", () => {
    if (timer !== null) pause();
    if (asked) return;
    asked = true;    // however many places the slider passes between two frames, one is shown
    requestAnimationFrame(() => { asked = false; show(Number(slider.value), true); });
  });
  const step = (by) => { if (timer !== null) pause(); show(Math.min(last, Math.max(1, shown + by)), true); };
  document.getElementById("back").addEventListener("click", () => step(-1));
  document.getElementById("on").addEventListener("click", () => step(1));

  const find = document.getElementById("find");
  function filter() {
    const wanted = find.value.trim().toLowerCase();
    for (const row of rows) {
      const hidden = !row.words.includes(wanted) || (row.so_far === 0 && shown < last);
      if (row.item.hidden !== hidden) row.item.hidden = hidden;
    }
  }
  find.addEventListener("input", filter);
  if (buttons.size > 12) find.hidden = false;
  if (last > 1) document.querySelector(".replay").hidden = false;
  if (mentions.length) { about.hidden = false; document.querySelector(".help").hidden = false; describe(null, null); }
})();
