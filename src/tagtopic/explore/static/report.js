// A report contains its pages in chunks of gzipped JSON. This decompresses the chunk of the page in the address.
"use strict";
(() => {
  const read = (id) => document.getElementById(id);
  const chunks = new Map();
  let pages, files;

  async function chunk(number) {
    if (!chunks.has(number)) {
      const bytes = Uint8Array.from(atob(read(`chunk-${number}`).textContent.trim()), (c) => c.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
      chunks.set(number, new Response(stream).json());
    }
    return chunks.get(number);
  }

  async function show(moved) {
    if (location.hash && !location.hash.startsWith("#/")) return; // an anchor on the page, such as that of the skip link
    const path = location.hash.slice(1) || "/";
    const main = read("main");
    if (path !== main.dataset.path) {
      const number = pages[path];
      const html = number === undefined ? read("missing").innerHTML : (await chunk(number))[path];
      main.innerHTML = html; // rendered and escaped by the same templates as the served pages
      main.dataset.path = path;
      window.tagtopic.prepare(main);
      const section = "/" + path.split("/")[1];
      for (const link of document.querySelectorAll("nav a[data-section]")) {
        const own = link.getAttribute("href").slice(1);
        const current = own === section || (own === "/" && section === "/topics");
        if (current) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
      }
      const heading = main.querySelector("h1");
      if (heading) document.title = `${heading.textContent.trim().slice(0, 80)} · tagtopic`;
    }
    if (moved) { scrollTo(0, 0); main.focus(); }
  }

  // a file in the report: the address of the link is the path of its compressed text
  async function download(link) {
    const path = link.getAttribute("href").slice(1);
    const text = (await chunk(files[path]))[path];
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    const file = Object.assign(document.createElement("a"), { href: address, download: link.download });
    file.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[download]");
    if (!link || !link.getAttribute("href").startsWith("#/")) return; // the download itself uses a blob link
    event.preventDefault();
    download(link);
  });

  document.addEventListener("DOMContentLoaded", () => {
    pages = JSON.parse(read("pages").textContent);
    files = JSON.parse(read("files").textContent);
    addEventListener("hashchange", () => show(true));
    if (location.hash.startsWith("#/") && location.hash !== "#/") show(false);
    for (const form of document.querySelectorAll("form.search")) form.addEventListener("submit", (e) => e.preventDefault());
  });
})();
