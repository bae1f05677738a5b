// The page's one script: it asks for the page again, and replaces what moves. Reading works without.
"use strict";
(() => {
  const EVERY = 2000; // milliseconds
  const status = document.getElementById("status");
  const button = document.getElementById("pause");
  const from = document.body.dataset.from || location.href;
  let said = "";
  let isLost = false;

  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const isPaused = () => button.getAttribute("aria-pressed") === "true";

  // What a viewer has done inside of what moves stays: focus, open details, and what is typed.
  const replace = (place, fresh) => {
    if (place.innerHTML === fresh.innerHTML) return;
    const active = document.activeElement;
    const inside = place.contains(active);
    if (inside && (!active.id || active.matches("input, select, textarea"))) return;
    const selection = document.getSelection();
    if (!selection.isCollapsed && place.contains(selection.anchorNode)) return;
    const open = [...place.querySelectorAll("details[open][id]")].map((one) => one.id);
    place.innerHTML = fresh.innerHTML;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (inside) document.getElementById(active.id)?.focus();
    const news = place.querySelector("[data-say]")?.dataset.say ?? "";
    if (news && said && news !== said) say(news);
    if (news) said = news;
  };

  const update = async () => {
    try {
      const answer = await fetch(from);
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (isPaused()) return;
      for (const one of fresh.querySelectorAll("[data-live]")) {
        const place = document.querySelector(`[data-live="${one.dataset.live}"]`);
        if (place) replace(place, one);
      }
      if (isLost) say("Connected again.");
      isLost = false;
    } catch {
      if (!isLost) say("The connection is lost; what is shown may be old.");
      isLost = true;
    }
  };

  // A tab that nobody sees asks for nothing.
  const step = async () => {
    if (!document.hidden && !isPaused()) await update();
    setTimeout(step, EVERY);
  };

  button.hidden = false;
  button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", String(!isPaused()));
    button.textContent = isPaused() ? "Go on" : "Pause";
    say(isPaused() ? "Paused." : "Going on.");
  });
  setTimeout(step, EVERY);
})();
