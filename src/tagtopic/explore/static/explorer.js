// Script of pages and report: colour scheme, search suggestions, colouring by topic or tag, live results of "Try it",
// answers of the review. Figures are in figures.js.
// Every page works without it.
"use strict";
(() => {
  const root = document.documentElement;
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private window */ } };

  const theme = stored("tagtopic-theme");
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function themeButton() {
    const button = document.querySelector("button.theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      store("tagtopic-theme", root.dataset.theme);
    });
  }

  // Suggestions: a list under a search field, from the API or, in a report, from its index.
  const index = () => {
    const held = document.getElementById("search-index");
    return held ? JSON.parse(held.textContent) : null;
  };
  const percent = (share) => `${(100 * share).toFixed(1)}%`;
  let local;

  function findLocally(query, onlyTags) {
    const wanted = query.toLowerCase();
    const value = (name) => name.slice(name.indexOf(":") + 1);
    const first = ([name]) => name.toLowerCase().startsWith(wanted) || value(name.toLowerCase()).startsWith(wanted);
    const among = (items, most) => {
      const found = items.filter(([name]) => name.toLowerCase().includes(wanted));
      return [...found.filter(first), ...found.filter((item) => !first(item))].slice(0, most);
    };
    const tags = among(local.tags, onlyTags ? 8 : 5)
      .map(([tag, number, share]) => ({ tag, path: `/tags/${number}`, note: percent(share) }));
    if (onlyTags) return tags;
    const topics = among(local.topics, 3)
      .map(([name, number]) => ({ tag: name, path: `/topics/${number}`, note: `topic ${number}` }));
    const documents = among(local.documents, 3)
      .map(([name, number]) => ({ tag: name, path: `/documents/${number}`, note: "document" }));
    return [...topics, ...tags, ...documents];
  }

  async function find(query, onlyTags) {
    if (local === undefined) local = index();
    if (local) return findLocally(query, onlyTags);
    const wanted = encodeURIComponent(query);
    const answer = await fetch(onlyTags ? `/api/v1/tags?limit=8&query=${wanted}` : `/api/v1/search?n=4&query=${wanted}`);
    if (!answer.ok) return [];
    const found = await answer.json();
    const tags = found.tags
      .map((tag) => ({ tag: tag.tag, path: `/tags/${tag.number}`, note: percent(tag.value) }));
    if (onlyTags) return tags;
    const topics = found.topics.slice(0, 3).map((topic) => (
      { tag: topic.name || topic.words.join(", "), path: `/topics/${topic.topic}`, note: `topic ${topic.topic}` }));
    const documents = found.documents.slice(0, 3).map((item) => (
      { tag: item.title ? `${item.id}: ${item.title}` : item.id, path: `/documents/${item.number}`, note: "document" }));
    return [...topics, ...tags, ...documents];
  }

  let lists = 0;

  function suggest(input) {
    const holder = document.createElement("span");
    holder.className = "holder";
    input.replaceWith(holder);
    const list = document.createElement("ul");
    Object.assign(list, { className: "suggestions", id: `suggestions-${lists++}`, hidden: true });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", input.dataset.suggest === "go" ? "Topics, tags and documents" : "Tags");
    holder.append(input, list);
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", list.id);
    input.setAttribute("aria-expanded", "false");
    let found = [], active = -1, turn = 0, timer;

    function close() {
      clearTimeout(timer);
      turn++; // discards the results of pending searches
      list.hidden = true;
      active = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }

    function choose(place) {
      const tag = found[place];
      close();
      if (input.dataset.suggest === "add") {
        const tags = document.getElementById("tags");
        const lines = tags.value.split("\n").filter((line) => line.trim());
        if (!lines.includes(tag.tag)) lines.push(tag.tag);
        tags.value = lines.join("\n");
        input.value = "";
        tags.dispatchEvent(new Event("input", { bubbles: true }));
      } else if (input.dataset.suggest === "fill") {
        input.value = tag.tag;
        input.dispatchEvent(new Event("change", { bubbles: true }));
      } else {
        location.href = `${local ? "#" : ""}${tag.path}`;
        input.value = "";
      }
    }

    function mark(place) {
      active = place;
      input.removeAttribute("aria-activedescendant");
      [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === place)));
      if (place >= 0) {
        input.setAttribute("aria-activedescendant", list.children[place].id);
        list.children[place].scrollIntoView({ block: "nearest" });
      }
    }

    function show() {
      list.replaceChildren(...found.map((tag, place) => {
        const option = document.createElement("li");
        option.id = `${list.id}-${place}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        const name = document.createElement("bdi");
        name.textContent = tag.tag.length > 60 ? `${tag.tag.slice(0, 59)}…` : tag.tag;
        const share = document.createElement("span");
        share.textContent = tag.note;
        option.append(name, share);
        option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(place); });
        return option;
      }));
      if (!found.length) {
        const nothing = document.createElement("li");
        nothing.className = "nothing";
        nothing.setAttribute("role", "option");
        nothing.setAttribute("aria-disabled", "true");
        nothing.textContent = input.dataset.suggest === "go" ? "nothing found" : "no tags found";
        list.append(nothing);
      }
      list.hidden = false;
      input.setAttribute("aria-expanded", "true");
    }

    input.addEventListener("input", () => {
      clearTimeout(timer);
      mark(-1); // the marked option belonged to the previous query
      const query = input.value.trim(), mine = ++turn;
      if (!query) { close(); return; }
      timer = setTimeout(async () => {
        const answer = await find(query, input.dataset.suggest !== "go");
        if (mine !== turn) return;
        found = answer;
        active = -1;
        show();
      }, 120);
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !list.hidden) { event.preventDefault(); close(); return; } // the browser would clear the field
      if (event.key === "Enter") {
        if (active >= 0) { event.preventDefault(); choose(active); }
        else if (input.dataset.suggest === "add" || local) {
          event.preventDefault();
          if (local && !list.hidden && found.length) choose(0);
        }
        return;
      }
      if (list.hidden || !found.length || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      mark((active + step + found.length) % found.length);
    });
    input.addEventListener("blur", close);
  }

  // Colour the words of a document by topic or by tag.
  function colourSwitch(within) {
    for (const choice of within.querySelectorAll("fieldset.switch")) {
      const text = choice.closest(".text");
      choice.hidden = false;
      choice.addEventListener("change", (event) => {
        store("tagtopic-colour", event.target.value);
        paint(text, event.target.value);
      });
      if (stored("tagtopic-colour") === "tag") {
        choice.querySelector("[value=tag]").checked = true;
        paint(text, "tag");
      }
    }
  }

  function paint(text, by) {
    text.classList.toggle("by-tag", by === "tag");
    text.classList.toggle("by-topic", by !== "tag");
  }

  // Results of "Try it" while a text is typed.
  function tryIt(form) {
    const result = document.getElementById("result");
    form.querySelector(".adding").hidden = false;
    let timer, turn = 0;
    async function analyse() {
      const mine = ++turn, body = new URLSearchParams(new FormData(form));
      let answer;
      try {
        answer = await fetch("/try", { method: "POST", body, headers: { "X-Fragment": "result" } });
      } catch {
        if (mine === turn) showNote("The server does not answer: is it still running?");
        return;
      }
      const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (mine !== turn) return;
      if (!answer.ok) {
        showNote(parsed.querySelector(".lede")?.textContent ?? `The request failed (${answer.status}).`);
        return;
      }
      result.replaceChildren(...parsed.body.childNodes);
      prepare(result);
      const query = new URLSearchParams({ text: form.elements.text.value });
      for (const tag of form.elements.tags.value.split("\n")) if (tag.trim()) query.append("tag", tag.trim());
      history.replaceState(null, "", query.toString().length < 4000 ? `/try?${query}` : "/try");
    }
    function showNote(message) {
      const note = document.createElement("p");
      note.className = "note empty";
      note.textContent = message;
      result.replaceChildren(note);
    }
    const fields = [form.elements.text, form.elements.tags];
    addEventListener("pageshow", () => { // on "back" the browser restores the fields, not the result
      if (fields.some((field) => field.value !== field.defaultValue)) analyse();
    });
    form.addEventListener("input", (event) => {
      if (event.target.id === "add") return;
      clearTimeout(timer);
      timer = setTimeout(analyse, 150);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); analyse(); });
  }

  // Answers of the review, by buttons and keys; the server returns the next question.
  function review(holder) {
    const content = holder.querySelector(".review"), status = holder.querySelector("[role=status]");
    const keys = holder.querySelector(".keys"), byKeys = keys.querySelector("input");
    let busy = false;

    function restore() { // what a new question must not reset
      const who = content.querySelector("#who");
      if (who && stored("tagtopic-who")) who.value = stored("tagtopic-who");
    }

    async function send(form, button) {
      if (busy) return; // a key meant for this question must not answer the next one
      busy = true;
      content.setAttribute("aria-busy", "true");
      const body = new URLSearchParams(new FormData(form));
      body.set(button.name, button.value);
      const own = content.querySelector("#who");
      if (own) {
        body.set("who", own.value);
        if (own.value !== own.defaultValue) store("tagtopic-who", own.value);
      }
      try {
        const answer = await fetch("/review", { method: "POST", body, headers: { "X-Fragment": "result" } });
        const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
        if (answer.ok) {
          status.textContent = parsed.querySelector("[data-message]").dataset.message;
          content.replaceChildren(...parsed.body.childNodes);
          prepare(content);
          restore();
          content.querySelector("#question-title").focus();
        } else {
          status.textContent = parsed.querySelector(".lede")?.textContent ?? `The request failed (${answer.status}).`;
        }
      } catch {
        status.textContent = "The server does not answer: the decision may not have been recorded. Reload the page.";
      }
      content.removeAttribute("aria-busy");
      busy = false;
    }

    keys.hidden = false;
    byKeys.checked = stored("tagtopic-keys") !== "off";
    byKeys.addEventListener("change", () => store("tagtopic-keys", byKeys.checked ? "on" : "off"));
    restore();
    content.addEventListener("submit", (event) => { event.preventDefault(); send(event.target, event.submitter); });
    content.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target.id !== "correction" || event.defaultPrevented) return;
      event.preventDefault();
      content.querySelector("button[value=correct]").click();
    });
    document.addEventListener("keydown", (event) => {
      if (!byKeys.checked || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input:not([type=checkbox]), textarea, select")) return;
      const chosen = content.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
      if (!chosen) return;
      event.preventDefault();
      if (chosen.matches("summary")) {
        chosen.parentElement.open = true;
        content.querySelector("#correction").focus();
      } else if (!busy) {
        chosen.click();
      }
    });
  }

  // Tables that fit need no hint to scroll.
  function scrollHints(within) {
    for (const box of within.querySelectorAll(".scroll")) {
      new ResizeObserver(() => box.classList.toggle("fits", box.scrollWidth <= box.clientWidth)).observe(box);
    }
  }

  function prepare(within) {
    scrollHints(within);
    window.tagtopic.figures(within);
    colourSwitch(within);
    within.querySelectorAll("[data-suggest]").forEach(suggest);
    within.querySelectorAll("form[data-live]").forEach(tryIt);
    within.querySelectorAll("[data-review]").forEach(review);
  }

  document.addEventListener("DOMContentLoaded", () => { themeButton(); prepare(document); });
  window.tagtopic.prepare = prepare;
})();
