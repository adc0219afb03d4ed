// Figures of pages and report: the map of documents, and downloads of every figure as SVG or PNG.
"use strict";
(() => {
  const root = document.documentElement;
  const SVG = () => document.querySelector("svg").namespaceURI;
  const PNG_SCALE = 2;

  function save(blob, name) {
    const address = URL.createObjectURL(blob);
    Object.assign(document.createElement("a"), { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  // What a style sheet says of the elements of a figure, as attributes, so that the figure can stand alone.
  const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
    "font-family", "font-size", "font-weight", "text-anchor", "display"];

  function standalone(figure) {
    const copy = figure.cloneNode(true), box = figure.viewBox.baseVal;
    const originals = [figure, ...figure.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
    originals.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const name of DRAWN) copies[i].setAttribute(name, style.getPropertyValue(name));
      for (const name of ["class", "href", "tabindex"]) copies[i].removeAttribute(name);
    });
    const ground = document.createElementNS(SVG(), "rect");
    const placed = { x: box.x, y: box.y, width: box.width, height: box.height };
    for (const [name, value] of Object.entries({ ...placed, fill: getComputedStyle(root).getPropertyValue("--card").trim() })) {
      ground.setAttribute(name, value);
    }
    copy.prepend(ground);
    copy.setAttribute("xmlns", SVG());
    copy.setAttribute("width", box.width);
    copy.setAttribute("height", box.height);
    return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
  }

  async function asPng(blob, width, height) {
    const address = URL.createObjectURL(blob), image = new Image();
    try {
      await new Promise((resolve, reject) => { image.onload = resolve; image.onerror = reject; image.src = address; });
      const canvas = Object.assign(document.createElement("canvas"), { width: PNG_SCALE * width, height: PNG_SCALE * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
    } finally {
      URL.revokeObjectURL(address);
    }
  }

  // Buttons below a figure; `svg` and `png` make the files.
  function offer(figure, name, svg, png) {
    const row = document.createElement("p");
    row.className = "downloads";
    for (const [suffix, make] of [["svg", svg], ["png", png]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = suffix.toUpperCase();
      button.setAttribute("aria-label", `Download ${name.replaceAll("-", " ")} as ${suffix.toUpperCase()}`);
      button.addEventListener("click", async () => save(await make(), `${name}.${suffix}`));
      row.append(button);
    }
    figure.append(row);
  }

  function downloads(figure) {
    const drawing = figure.querySelector("svg"), box = drawing.viewBox.baseVal;
    offer(figure, figure.dataset.figure, () => standalone(drawing), () => asPng(standalone(drawing), box.width, box.height));
  }

  // The map of documents: points on a canvas, moved by dragging, zoomed by wheel, pinch or buttons.
  async function documentMap(holder) {
    const canvas = holder.querySelector("canvas"), note = holder.querySelector("[data-note]");
    const form = holder.querySelector("form"), held = holder.querySelector(".map-data");
    let data;
    try {
      data = held ? JSON.parse(held.textContent) : await (await fetch(holder.dataset.source)).json();
    } catch {
      note.textContent = "The map could not be loaded.";
      return;
    }
    const n = data.numbers.length, pen = canvas.getContext("2d");
    const styles = getComputedStyle(root);
    let palette = [], plain = "", ink = "", chosen = null, view = { scale: 1, x: 0, y: 0 }, size = { w: 0, h: 0 };
    const order = Uint32Array.from(data.numbers.keys()).sort((a, b) => data.topics[a] - data.topics[b]);
    // points by cells of a grid, so that the one under the pointer is found at once
    const side = 48, cells = Array.from({ length: side * side }, () => []);
    const clamp = (value) => Math.max(0, Math.min(side - 1, Math.floor(value)));
    for (let i = 0; i < n; i++) {
      cells[clamp(data.y[i] / data.height * side) * side + clamp(data.x[i] / data.width * side)].push(i);
    }

    function colours() {
      const many = Number(styles.getPropertyValue("--topic-colours")) || 12;
      palette = Array.from({ length: many }, (_, i) => styles.getPropertyValue(`--t${i}`).trim());
      plain = styles.getPropertyValue("--track").trim();
      ink = styles.getPropertyValue("--accent").trim();
    }

    function measure() {
      const ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = w * data.height / data.width;
      size = { w, h };
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    }

    function scales() {
      const dot = Math.max(2, Math.min(7, 2.2 * view.scale ** 0.4 + 900 / (n + 400)));
      return { unit: size.w / data.width * view.scale, dot };
    }

    function draw() {
      if (!canvas.width || !canvas.height) return; // the page is not laid out yet, or the map is not shown
      const { unit, dot } = scales();
      pen.clearRect(0, 0, size.w, size.h);
      let last = null;
      const point = (i) => {
        const x = data.x[i] * unit + view.x, y = data.y[i] * unit + view.y;
        if (x > -dot && y > -dot && x < size.w + dot && y < size.h + dot) pen.fillRect(x - dot / 2, y - dot / 2, dot, dot);
      };
      for (const i of order) {
        const colour = chosen ? plain : palette[data.topics[i] % palette.length];
        if (colour !== last) { pen.fillStyle = colour; last = colour; }
        point(i);
      }
      if (chosen) {
        pen.fillStyle = ink;
        for (const i of order) if (chosen.has(data.numbers[i])) point(i);
      }
      picture.width = canvas.width;
      picture.height = canvas.height;
      picture.getContext("2d").drawImage(canvas, 0, 0);
      drawn = view;
    }

    // while the map is dragged, the last picture of it is moved; all points are drawn when it rests
    const picture = document.createElement("canvas");
    let drawn = view, waiting = false, rest;
    const redraw = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    };
    const shift = () => {
      clearTimeout(rest);
      rest = setTimeout(redraw, 150);
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        if (!picture.width || !picture.height) return;
        pen.clearRect(0, 0, size.w, size.h);
        pen.drawImage(picture, view.x - drawn.x, view.y - drawn.y, size.w, size.h);
      });
    };

    function zoom(factor, x = size.w / 2, y = size.h / 2) {
      if (!factor) view = { scale: 1, x: 0, y: 0 };
      else {
        const scale = Math.max(1, Math.min(60, view.scale * factor)), change = scale / view.scale;
        view = { scale, x: x - (x - view.x) * change, y: y - (y - view.y) * change };
      }
      redraw();
    }

    function under(event) { // the nearest point within a few pixels
      const box = canvas.getBoundingClientRect(), unit = size.w / data.width * view.scale;
      const x = (event.clientX - box.left - view.x) / unit, y = (event.clientY - box.top - view.y) / unit;
      const reach = 9 / unit;
      let best = -1, nearest = reach * reach;
      const from = (value, total) => clamp((value - reach) / total * side), to = (value, total) => clamp((value + reach) / total * side);
      for (let row = from(y, data.height); row <= to(y, data.height); row++) {
        for (let column = from(x, data.width); column <= to(x, data.width); column++) {
          for (const i of cells[row * side + column]) {
            const distance = (data.x[i] - x) ** 2 + (data.y[i] - y) ** 2;
            if (distance < nearest) { nearest = distance; best = i; }
          }
        }
      }
      return best;
    }

    const shown = n < data.total ? `${n.toLocaleString("en")} of ${data.total.toLocaleString("en")}` : n.toLocaleString("en");
    const usual = `${shown} documents. Point at one for its title, click to open it, drag to move, scroll with Ctrl to zoom.`;
    const pointers = new Map();
    let moved = 0, spread = 0;
    canvas.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, event); moved = 0; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) {
        const i = under(event);
        canvas.classList.toggle("on-point", i >= 0);
        note.textContent = i < 0 ? usual : `${data.labels[i]} (topic ${data.topics[i]})`;
        return;
      }
      pointers.set(event.pointerId, event);
      if (pointers.size === 2) {
        const [a, b] = [...pointers.values()], apart = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
        const box = canvas.getBoundingClientRect();
        if (spread) zoom(apart / spread, (a.clientX + b.clientX) / 2 - box.left, (a.clientY + b.clientY) / 2 - box.top);
        spread = apart;
        moved = 99;
        return;
      }
      moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
      view = { ...view, x: view.x + event.clientX - before.clientX, y: view.y + event.clientY - before.clientY };
      shift();
    });
    const release = (event) => { pointers.delete(event.pointerId); spread = 0; };
    canvas.addEventListener("pointerup", (event) => {
      release(event);
      const i = moved < 4 ? under(event) : -1;
      if (i < 0) return;
      if (event.pointerType === "touch") note.textContent = `${data.labels[i]} (topic ${data.topics[i]})`;
      else location.href = `${holder.dataset.root}/documents/${data.numbers[i]}`;
    });
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    form.hidden = false;
    form.addEventListener("click", (event) => {
      if (event.target.dataset.zoom !== undefined) zoom(Number(event.target.dataset.zoom));
    });
    const choose = async () => {
      const tag = form.elements.tag?.value.trim();
      chosen = null;
      if (tag) {
        const answer = await fetch(`/api/v1/map/tag?tag=${encodeURIComponent(tag)}`);
        if (answer.ok) {
          chosen = new Set(await answer.json());
          note.textContent = `${chosen.size.toLocaleString("en")} documents with ${tag}.`;
        } else note.textContent = `No tag is called ${tag}.`;
      } else note.textContent = usual;
      redraw();
    };
    form.addEventListener("submit", (event) => { event.preventDefault(); choose(); });
    form.elements.tag?.addEventListener("change", choose);
    const again = () => { colours(); measure(); draw(); };
    new ResizeObserver(again).observe(holder);
    new MutationObserver(again).observe(root, { attributes: true, attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    note.textContent = usual;
    again();
    canvas.dataset.points = String(n);

    // the part of the map that is shown, with a path per colour
    function drawnMap() {
      const { unit, dot } = scales(), paths = new Map();
      const add = (i, colour) => {
        const x = data.x[i] * unit + view.x - dot / 2, y = data.y[i] * unit + view.y - dot / 2;
        if (x < -dot || y < -dot || x > size.w || y > size.h) return;
        if (!paths.has(colour)) paths.set(colour, []);
        paths.get(colour).push(`M${x.toFixed(1)} ${y.toFixed(1)}h${dot.toFixed(1)}v${dot.toFixed(1)}h-${dot.toFixed(1)}z`);
      };
      for (const i of order) add(i, chosen ? plain : palette[data.topics[i] % palette.length]);
      if (chosen) for (const i of order) if (chosen.has(data.numbers[i])) add(i, ink);
      const drawn = [...paths].map(([colour, parts]) => `<path fill="${colour}" d="${parts.join("")}"/>`);
      const ground = `<rect width="${size.w}" height="${size.h}" fill="${styles.getPropertyValue("--card").trim()}"/>`;
      const opening = `<svg xmlns="${SVG()}" width="${size.w}" height="${size.h}" viewBox="0 0 ${size.w} ${size.h}">`;
      return new Blob([opening, ground, ...drawn, "</svg>"], { type: "image/svg+xml" });
    }
    offer(holder, "document-map", drawnMap, () => asPng(drawnMap(), size.w, size.h));
  }

  window.tagtopic = {
    figures(within) {
      within.querySelectorAll("[data-map]").forEach(documentMap);
      within.querySelectorAll("figure[data-figure]").forEach(downloads);
    },
  };
})();
