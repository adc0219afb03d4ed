// What pages and report do by script: the theme, suggestions, colouring by topic or tag, and reading while one types.
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

  // Suggestions: a list under a search field, from the service or, in a report, from the tags that it holds.
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
      list.hidden = found.length === 0;
      input.setAttribute("aria-expanded", String(found.length > 0));
    }

    input.addEventListener("input", () => {
      clearTimeout(timer);
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
      if (event.key === "Escape" && !list.hidden) { event.preventDefault(); close(); return; } // it would empty the field
      if (event.key === "Enter") {
        if (active >= 0) { event.preventDefault(); choose(active); }
        else if (input.dataset.suggest === "add" || local) event.preventDefault();
        return;
      }
      if (list.hidden || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      mark((active + step + found.length) % found.length);
    });
    input.addEventListener("blur", close);
  }

  // Colouring the words of a document by topic or by tag.
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

  // Reading a text while it is typed.
  function tryIt(form) {
    const result = document.getElementById("result");
    form.querySelector(".adding").hidden = false;
    let timer, turn = 0;
    async function read() {
      const mine = ++turn, body = new URLSearchParams(new FormData(form));
      let answer;
      try {
        answer = await fetch("/try", { method: "POST", body, headers: { "X-Fragment": "result" } });
      } catch {
        return;
      }
      const html = await answer.text();
      if (mine !== turn) return;
      if (answer.ok) {
        const parsed = new DOMParser().parseFromString(html, "text/html");
        result.replaceChildren(...parsed.body.childNodes);
        prepare(result);
      }
      const query = new URLSearchParams({ text: form.elements.text.value });
      for (const tag of form.elements.tags.value.split("\n")) if (tag.trim()) query.append("tag", tag.trim());
      if (query.toString().length < 4000) history.replaceState(null, "", `/try?${query}`);
    }
    form.addEventListener("input", (event) => {
      if (event.target.id === "add") return;
      clearTimeout(timer);
      timer = setTimeout(read, 150);
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(timer); read(); });
  }

  function prepare(within) {
    colourSwitch(within);
    within.querySelectorAll("[data-suggest]").forEach(suggest);
    within.querySelectorAll("form[data-live]").forEach(tryIt);
  }

  document.addEventListener("DOMContentLoaded", () => { themeButton(); prepare(document); });
  window.tagtopic = { prepare };
})();
