// Searching, filtering, sorting, paging and printing of tables. The state is kept in the address, so
// that it can be shared as a link. All text is inserted as text nodes; nothing is parsed as markup.
// The content of a table and how its rows are drawn are defined by its own script.
const tables = (() => {
  "use strict";
  const fold = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

  function element(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    for (const child of children) node.append(child); // strings become text nodes
    return node;
  }
  const text = (name, className, value) => element(name, { class: className, dir: "auto" }, value);

  // A name that may break after an underscore, where it is too long for its column.
  function breakable(name) {
    const node = element("bdi", {});
    name.split(/(?<=_)/).forEach((part, at) => node.append(...(at ? [element("wbr")] : []), part));
    return node;
  }

  // A mark is never only a colour: it has a symbol and a description too.
  function mark(kind, symbol, said, words) {
    const node = element("span", { class: `o o-${kind}`, title: words });
    node.append(element("span", { "aria-hidden": "true" }, symbol), ` ${said}`,
      element("span", { class: "sr" }, `, ${words}`));
    return node;
  }

  // Each string is in the data once; its folded form for the search is built when first needed.
  function stringTable(strings) {
    const foldedStrings = new Map();
    const string = (index) => strings[index] ?? "";
    function folded(index) {
      let found = foldedStrings.get(index);
      if (found === undefined) foldedStrings.set(index, (found = fold(string(index))));
      return found;
    }
    return { string, folded };
  }

  const searches = []; // one function per table: whether it is on screen, and its search field

  // options:
  //   anchor    id of the section, and the name of the table in the address
  //   prefix    what the ids of its controls begin with
  //   head, body  ids of thead and tbody
  //   items     the rows, each with an `index`; noun: [one, many]
  //   fields, checks  state key → id of the select or checkbox
  //   pinned    state key that holds the id of a linked row; byId: whether there is such a row
  //   keep      state keys that "clear" leaves alone
  //   opens     what "open all" opens, below the body
  //   columns(state) → [[key, title, class]]; matches(item, state); searchText(item)
  //   sortKey(state) → item → number or string, or null
  //   rowsOf(item, state, expanded) → the tr of an item, and those that belong to it
  function browse(options) {
    const { anchor, prefix, items, noun, fields, checks, pinned, keep } = options;
    const $ = (id) => document.getElementById(prefix + id);
    const body = document.getElementById(options.body);
    const head = document.getElementById(options.head);

    const INITIAL = { q: "" };
    for (const key of [...Object.keys(fields), ...Object.keys(checks), "sort", "dir"]) INITIAL[key] = "";
    Object.assign(INITIAL, { size: $("f-size").value, page: "1", [pinned]: "" });
    const FIELDS = { q: "f-q", ...fields, size: "f-size" };
    let state = { ...INITIAL };
    let expanded = false;

    function readHash() {
      const hash = location.hash.replace(/^#/, "");
      if (!hash.startsWith(`${anchor}?`)) return false;
      const params = new URLSearchParams(hash.slice(anchor.length + 1));
      state = { ...INITIAL };
      for (const key of Object.keys(INITIAL)) if (params.has(key)) state[key] = params.get(key);
      if (!options.byId(state[pinned])) state[pinned] = "";
      return true;
    }
    function address() {
      const params = new URLSearchParams();
      for (const key of Object.keys(INITIAL)) if (state[key] !== INITIAL[key]) params.set(key, state[key]);
      const query = params.toString();
      return query ? `#${anchor}?${query}` : `#${anchor}`;
    }
    function writeHash() {
      if (address() !== location.hash) history.replaceState(null, "", address());
    }

    function chosen() {
      const words = fold(state.q).split(/\s+/).filter(Boolean);
      const found = items.filter((item) =>
        (!state[pinned] || item.id === state[pinned]) && options.matches(item, state) &&
        (!words.length || words.every((word) => options.searchText(item).includes(word))));
      const key = options.sortKey(state);
      if (!key) return found;
      const sign = state.dir === "desc" ? -1 : 1;
      const keyed = found.map((item) => [key(item), item]);
      keyed.sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x.index - y.index));
      return keyed.map(([, item]) => item);
    }

    function drawHead(columns) {
      const row = element("tr", { role: "row" });
      for (const [key, title, className] of columns) {
        const sorted = state.sort === key ? (state.dir === "desc" ? "descending" : "ascending") : "none";
        const cell = element("th", { role: "columnheader", scope: "col", "aria-sort": sorted, class: className });
        const button = element("button", { type: "button", "data-sort": key, title: "Sort by this column" });
        button.append(breakable(title));
        cell.append(button);
        row.append(cell);
      }
      const focused = document.activeElement;
      const key = head.contains(focused) ? focused.dataset.sort : null;
      head.replaceChildren(row);
      if (key) head.querySelector(`[data-sort="${key}"]`)?.focus();
    }
    function draw() {
      const found = chosen();
      const size = Math.max(1, Number.parseInt(state.size, 10) || 25);
      const pages = Math.max(1, Math.ceil(found.length / size));
      const page = Math.min(Math.max(1, Number.parseInt(state.page, 10) || 1), pages);
      state.page = String(page);
      const start = (page - 1) * size;
      const columns = options.columns(state);
      const rows = found.slice(start, start + size).flatMap((item) => {
        const drawn = options.rowsOf(item, state, expanded);
        if (item.id === state[pinned]) for (const row of drawn) row.classList.add("pinned");
        return drawn;
      });
      if (!rows.length) {
        const cell = element("td", { role: "cell", colspan: String(columns.length), class: "empty" });
        cell.append(`No ${noun[0]} matches all filters. Change or clear them.`);
        rows.push(element("tr", { role: "row" }, cell));
      }
      drawHead(columns);
      body.replaceChildren(...rows);
      const amount = (n) => n.toLocaleString("en-GB");
      const all = `${amount(items.length)} ${noun[items.length === 1 ? 0 : 1]}`;
      $("count").textContent = found.length === items.length ? all : `${amount(found.length)} of ${all}`;
      $("page-of").textContent = `page ${amount(page)} of ${amount(pages)}`;
      $("prev").disabled = page <= 1;
      $("next").disabled = page >= pages;
      $("only").hidden = !state[pinned];
      writeControls();
    }

    function writeControls() {
      for (const [key, id] of Object.entries(FIELDS)) {
        if ($(id) && $(id).value !== state[key]) $(id).value = state[key];
      }
      for (const [key, id] of Object.entries(checks)) if ($(id)) $(id).checked = state[key] === "1";
    }
    function change(updates) {
      Object.assign(state, { page: "1" }, updates);
      draw();
      writeHash();
    }
    let timer = 0;
    for (const [key, id] of Object.entries(FIELDS)) {
      const field = $(id);
      if (!field) continue;
      if (key === "q") {
        field.addEventListener("input", () => {
          clearTimeout(timer);
          timer = setTimeout(() => change({ q: field.value, [pinned]: "" }), 120);
        });
        field.addEventListener("keydown", (event) => {
          if (event.key === "Escape") { field.value = ""; change({ q: "" }); }
        });
      } else field.addEventListener("change", () => change({ [key]: field.value, [pinned]: "" }));
    }
    for (const [key, id] of Object.entries(checks)) {
      $(id)?.addEventListener("change", (event) => change({ [key]: event.target.checked ? "1" : "" }));
    }
    head.addEventListener("click", (event) => {
      const key = event.target.closest("button")?.dataset.sort;
      if (!key) return;
      if (state.sort !== key) change({ sort: key, dir: "" });
      else if (state.dir !== "desc") change({ dir: "desc" });
      else change({ sort: "", dir: "" });
    });
    const section = document.getElementById(anchor);
    const turn = (by) => { change({ page: String(Number(state.page) + by) }); section.scrollIntoView(); };
    $("prev").addEventListener("click", () => turn(-1));
    $("next").addEventListener("click", () => turn(1));
    $("clear").addEventListener("click", () => {
      const kept = Object.fromEntries(keep.map((key) => [key, state[key]]));
      change({ ...INITIAL, ...kept });
      $("f-q").focus();
    });
    $("expand").addEventListener("click", (event) => {
      expanded = !expanded;
      event.currentTarget.setAttribute("aria-pressed", String(expanded));
      for (const details of body.querySelectorAll(options.opens)) details.open = expanded;
    });
    addEventListener("hashchange", () => {
      if (readHash()) { draw(); section.scrollIntoView(); }
    });
    searches.push(() => {
      const { top, bottom } = section.getBoundingClientRect();
      return { seen: top < innerHeight && bottom > 0, field: $("f-q") };
    });
    const linked = readHash();
    draw();
    if (linked) section.scrollIntoView();
  }

  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const found = searches.map((search) => search());
    const field = (found.find((one) => one.seen) ?? found[0])?.field;
    if (field) { event.preventDefault(); field.focus(); }
  });
  // Paper has no interaction, so all details are opened for printing, except how each system reached
  // its answer, which would fill many pages: there only what the reader has opened is printed.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open], .answer)"));
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

  function fill(select, values) {
    for (const value of values) select.append(element("option", { value }, value));
  }
  return { browse, element, fill, fold, mark, stringTable, text };
})();
