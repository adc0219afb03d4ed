// Script of pages and report: colour scheme, search suggestions, colouring by topic or tag, live results of "Try it".
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

  // Suggestions: a list under a search field, from the API or, in a report, from its index of tags.
  const index = () => {
    const held = document.getElementById("tag-index");
    return held ? JSON.parse(held.textContent) : null;
  };
  let local;

  async function find(query) {
    if (local === undefined) local = index();
    if (local) {
      const wanted = query.toLowerCase();
      const value = (tag) => tag.slice(tag.indexOf(":") + 1);
      const found = local.filter(([tag]) => tag.toLowerCase().includes(wanted));
      const first = ([tag]) => tag.toLowerCase().startsWith(wanted) || value(tag.toLowerCase()).startsWith(wanted);
      return [...found.filter(first), ...found.filter((tag) => !first(tag))].slice(0, 8)
        .map(([tag, number, share]) => ({ tag, number, value: share }));
    }
    const answer = await fetch(`/api/v1/tags?limit=8&query=${encodeURIComponent(query)}`);
    return answer.ok ? (await answer.json()).tags : [];
  }

  let lists = 0;

  function suggest(input) {
    const holder = document.createElement("span");
    holder.className = "holder";
    input.replaceWith(holder);
    const list = document.createElement("ul");
    Object.assign(list, { className: "suggestions", id: `suggestions-${lists++}`, hidden: true });
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Tags");
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
      } else {
        location.href = `${local ? "#" : ""}/tags/${tag.number}`;
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
        share.textContent = `${(100 * tag.value).toFixed(1)}%`;
        option.append(name, share);
        option.addEventListener("pointerdown", (event) => { event.preventDefault(); choose(place); });
        return option;
      }));
      if (!found.length) {
        const nothing = document.createElement("li");
        nothing.className = "nothing";
        nothing.setAttribute("role", "option");
        nothing.setAttribute("aria-disabled", "true");
        nothing.textContent = "no tags found";
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
        const answer = await find(query);
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

  function prepare(within) {
    colourSwitch(within);
    within.querySelectorAll("[data-suggest]").forEach(suggest);
    within.querySelectorAll("form[data-live]").forEach(tryIt);
  }

  document.addEventListener("DOMContentLoaded", () => { themeButton(); prepare(document); });
  window.tagtopic = { prepare };
})();
