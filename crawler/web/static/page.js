// The page's one script: it replaces what moves, as the server sends it. Reading works without it.
"use strict";
(() => {
  const body = document.body;
  const status = document.getElementById("status");
  const paused = new Set();
  const waiting = new Map(); // the latest HTML of what is paused
  let source = null;
  let said = "";

  const say = (text) => { if (status && status.textContent !== text) status.textContent = text; };

  // What a viewer has done inside a fragment stays: focus, open details, and what is typed.
  const replace = (place, html) => {
    const active = document.activeElement;
    const inside = active && place.contains(active);
    if (inside && (!active.id || active.matches("input, select, textarea"))) return;
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed && place.contains(selection.anchorNode)) return;
    const open = [...place.querySelectorAll("details[open][id]")].map((one) => one.id);
    place.innerHTML = html;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (inside) document.getElementById(active.id)?.focus();
    const news = place.querySelector("[data-say]")?.dataset.say ?? "";
    if (news && said && news !== said) say(news);
    if (news) said = news;
  };

  const receive = (name, html) => {
    if (paused.has("") || paused.has(name)) { waiting.set(name, html); return; }
    const place = document.querySelector(`[data-live="${name}"]`);
    if (place) replace(place, html);
  };

  const connect = () => {
    const query = body.dataset.query ? `&${body.dataset.query}` : "";
    source = new EventSource(`/events?page=${encodeURIComponent(body.dataset.page)}${query}`);
    let lost = false;
    source.addEventListener("hello", () => { if (lost) say("Connected again."); lost = false; });
    source.onerror = () => { if (!lost) say("The connection is lost; what is shown may be old."); lost = true; };
    for (const place of document.querySelectorAll("[data-live]")) {
      const name = place.dataset.live;
      source.addEventListener(name, (event) => receive(name, event.data));
    }
  };
  const disconnect = () => { source?.close(); source = null; };

  // A tab that nobody sees asks for nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect(); else if (!source) connect();
  });

  for (const button of document.querySelectorAll("[data-pause]")) {
    button.hidden = false;
    const label = button.textContent;
    button.addEventListener("click", () => {
      const name = button.dataset.pause;
      const pause = !paused.has(name);
      if (pause) paused.add(name); else paused.delete(name);
      button.setAttribute("aria-pressed", String(pause));
      button.textContent = pause ? "Go on" : label;
      say(pause ? "Paused." : "Going on.");
      if (!pause) for (const [one, html] of [...waiting]) {
        if (!paused.has(one)) { waiting.delete(one); receive(one, html); }
      }
    });
  }

  // Rows of a table that do not hold the text of its filter are hidden, also new ones.
  const filter = (input) => {
    const wanted = input.value.toLowerCase();
    for (const row of document.querySelectorAll(`#${CSS.escape(input.dataset.filter)} tbody tr`))
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
  };
  const filters = [...document.querySelectorAll("input[data-filter]")];
  for (const input of filters) {
    input.addEventListener("input", () => filter(input));
    const place = document.getElementById(input.dataset.filter)?.closest("[data-live]");
    if (place) new MutationObserver(() => filter(input)).observe(place, { childList: true });
  }

  if (!document.hidden) connect();
})();
