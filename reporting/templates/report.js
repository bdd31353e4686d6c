// The card table: filter, search, sort and page through the cards embedded in this file.
// Data reaches the page only as text nodes and as attributes set by name; nothing is parsed as
// markup. Without this script the first cards stand in the page as plain HTML.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const source = $("card-data");
  const body = $("card-rows");
  if (!source || !body) return;
  const data = JSON.parse(source.textContent);
  document.documentElement.classList.remove("no-js");

  const PRED = { Y: "YES", N: "NO", U: "UNKNOWN", I: "INVALID", R: "ERROR", "-": "" };
  const GOLD = { E: "Y", C: "N", U: "U" };
  const OUTCOMES = data.outcomes; // [key, symbol, words]
  const WORD = Object.fromEntries(OUTCOMES.map(([key, symbol, words]) => [key, { symbol, words }]));
  const ORDER = { right: 0, held: 1, wrong: 2, none: 3, absent: 4 };

  function outcome(gold, pred) {
    if (pred === "-") return "absent";
    if (pred === "I" || pred === "R") return "none";
    if (pred === gold) return "right";
    return pred === "U" ? "held" : "wrong";
  }

  // One object a card. `text` (what the search looks through) is made when first needed.
  const cards = data.cards.map((row, index) => {
    const [id, label, kind, difficulty, pred, question, facts, rules, proof, cardProof, preds,
      reasons] = row;
    const gold = GOLD[label];
    const outcomes = Array.from(preds, (p) => outcome(gold, p));
    return { index, id, label, kind, difficulty, pred, question, facts, rules, proof, cardProof, preds,
      reasons, outcomes, text: null };
  });
  const byId = new Map(cards.map((card) => [card.id, card]));
  const string = (index) => data.strings[index] ?? "";

  const fold = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  const foldedStrings = new Map();
  function folded(index) {
    let text = foldedStrings.get(index);
    if (text === undefined) foldedStrings.set(index, (text = fold(string(index))));
    return text;
  }
  function searchText(card) {
    if (card.text === null) {
      const parts = [card.question, ...card.facts, card.proof].map(folded);
      card.text = [fold(card.id), fold(data.kinds[card.kind]), ...parts].join("\n");
    }
    return card.text;
  }

  // -- state, and its home in the address -----------------------------------------------------
  const INITIAL = { q: "", label: "", kind: "", pred: "", difficulty: "", system: "", outcome: "",
    disagree: "", controls: "", sort: "", dir: "", size: "25", page: "1", card: "" };
  let state = { ...INITIAL };
  const KEYS = Object.keys(INITIAL);

  function readHash() {
    const hash = location.hash.replace(/^#/, "");
    if (!hash.startsWith("cards?")) return false;
    const params = new URLSearchParams(hash.slice("cards?".length));
    state = { ...INITIAL };
    for (const key of KEYS) if (params.has(key)) state[key] = params.get(key);
    return true;
  }
  function address() {
    const params = new URLSearchParams();
    for (const key of KEYS) if (state[key] !== INITIAL[key]) params.set(key, state[key]);
    const query = params.toString();
    return query ? `#cards?${query}` : "#cards";
  }
  function writeHash() {
    if (address() !== location.hash) history.replaceState(null, "", address());
  }

  // -- choosing the cards ---------------------------------------------------------------------
  function disagreement(card) {
    const said = new Set();
    data.systems.forEach((system, i) => {
      if (!system.control && card.preds[i] !== "-") said.add(card.preds[i]);
    });
    return said.size > 1;
  }
  function hits(card, i) {
    switch (state.outcome) {
      case "": return true;
      case "not-right": return card.outcomes[i] !== "right";
      case "right": case "held": case "wrong": case "none": return card.outcomes[i] === state.outcome;
      default: return PRED[card.preds[i]] === state.outcome;
    }
  }
  function chosen() {
    const words = fold(state.q).split(/\s+/).filter(Boolean);
    const kind = data.kinds.indexOf(state.kind);
    const pred = data.preds.indexOf(state.pred);
    const system = data.systems.findIndex((s) => s.name === state.system);
    const visible = data.systems.map((s, i) => i).filter((i) => !data.systems[i].control);
    const asked = system >= 0 ? [system] : visible.length ? visible : data.systems.map((s, i) => i);
    const found = cards.filter((card) =>
      (!state.card || card.id === state.card) &&
      (!state.label || card.label === state.label) &&
      (!state.kind || card.kind === kind) &&
      (!state.pred || card.pred === pred) &&
      (!state.difficulty || card.difficulty === state.difficulty) &&
      (!state.disagree || disagreement(card)) &&
      (!state.outcome || asked.some((i) => hits(card, i))) &&
      (!words.length || words.every((word) => searchText(card).includes(word))));
    const key = sortKey();
    if (!key) return found;
    const sign = state.dir === "desc" ? -1 : 1;
    const keyed = found.map((card) => [key(card), card]);
    keyed.sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x.index - y.index));
    return keyed.map(([, card]) => card);
  }
  function sortKey() {
    if (state.sort === "label") return (card) => `${"ECU".indexOf(card.label)} ${data.kinds[card.kind]}`;
    if (state.sort === "question") return (card) => folded(card.question);
    if (state.sort === "gold") return (card) => "YNU".indexOf(GOLD[card.label]);
    const match = /^s(\d+)$/.exec(state.sort);
    if (match && Number(match[1]) < data.systems.length) {
      return (card) => ORDER[card.outcomes[Number(match[1])]];
    }
    return null;
  }

  // -- drawing --------------------------------------------------------------------------------
  function element(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value !== null && value !== undefined) node.setAttribute(key, value);
    }
    for (const child of children) node.append(child); // strings become text nodes
    return node;
  }
  const text = (name, className, value) => element(name, { class: className, dir: "auto" }, value);

  function showControls() { return state.controls === "1"; }
  function shownSystems() {
    return data.systems.map((s, i) => i).filter((i) => showControls() || !data.systems[i].control);
  }
  function chip(card, i) {
    const kind = card.outcomes[i];
    if (kind === "absent") return element("span", { class: "muted" }, "not asked");
    const { symbol, words } = WORD[kind];
    const mark = element("span", { class: `o o-${kind}`, title: words });
    mark.append(element("span", { "aria-hidden": "true" }, symbol), ` ${PRED[card.preds[i]]}`,
      element("span", { class: "sr" }, `, ${words}`));
    return mark;
  }
  function list(title, items) {
    const nodes = [element("h4", {}, title)];
    const ul = element("ul");
    for (const item of items) ul.append(element("li", { dir: "auto" }, string(item)));
    nodes.push(ul);
    return nodes;
  }
  function rowOf(card) {
    const row = element("tr", { role: "row" });
    if (card.id === state.card) row.classList.add("pinned");
    const label = element("td", { role: "cell", class: "c-label" });
    label.append(element("span", { class: "tag" }, data.labels[card.label]),
      element("span", { class: "kind", dir: "auto" }, data.kinds[card.kind]));
    const main = element("td", { role: "cell", class: "c-card" });
    main.append(text("p", "q", string(card.question)), text("p", "proof", string(card.proof)));
    const details = element("details", expanded ? { open: "" } : {});
    const count = card.facts.length;
    details.append(element("summary", {}, `${count} ${count === 1 ? "fact" : "facts"}`
      + (card.rules.length ? `, ${card.rules.length} ${card.rules.length === 1 ? "rule" : "rules"}` : "")
      + " and what each system said"));
    details.append(...list("Facts on the card", card.facts));
    if (card.rules.length) details.append(...list("Rules on the card", card.rules));
    if (card.cardProof >= 0) {
      details.append(element("h4", {}, "From the card alone"), text("p", "alone", string(card.cardProof)));
    }
    const reasons = shownSystems().filter((i) => card.reasons[i] >= 0);
    if (reasons.length) {
      details.append(element("h4", {}, "What each system said"));
      const ul = element("ul");
      for (const i of reasons) {
        const item = element("li", {});
        item.append(element("bdi", {}, data.systems[i].name), ": ", element("bdi", {}, string(card.reasons[i])));
        ul.append(item);
      }
      details.append(ul);
    }
    const meta = element("p", { class: "meta" });
    const params = new URLSearchParams({ card: card.id });
    meta.append("card ", element("code", {}, card.id), card.difficulty ? ` · ${card.difficulty} · ` : " · ",
      element("a", { href: `#cards?${params}` }, "link to this card"));
    details.append(meta);
    main.append(details);
    row.append(label, main, element("td", { role: "cell", class: "c-gold", "data-head": "gold" }, PRED[GOLD[card.label]]));
    for (const i of shownSystems()) {
      const system = data.systems[i];
      const cell = element("td", { role: "cell", class: system.control ? "control" : null, "data-head": system.name });
      cell.append(chip(card, i));
      row.append(cell);
    }
    return row;
  }

  const head = $("card-head");
  function drawHead() {
    const columns = [["label", "Label and kind"], ["question", "Question and proof"], ["gold", "Gold"]];
    for (const i of shownSystems()) columns.push([`s${i}`, data.systems[i].name, data.systems[i].control]);
    const row = element("tr", { role: "row" });
    for (const [key, title, control] of columns) {
      const sorted = state.sort === key ? (state.dir === "desc" ? "descending" : "ascending") : "none";
      const cell = element("th", { role: "columnheader", scope: "col", "aria-sort": sorted, class: control ? "control" : null });
      const button = element("button", { type: "button", "data-sort": key, title: "Sort by this column" });
      button.append(element("bdi", {}, title));
      cell.append(button);
      row.append(cell);
    }
    const focused = document.activeElement?.dataset?.sort;
    head.replaceChildren(row);
    if (focused) head.querySelector(`[data-sort="${focused}"]`)?.focus();
  }

  let expanded = false;
  function draw() {
    const found = chosen();
    const size = Math.max(1, Number.parseInt(state.size, 10) || 25);
    const pages = Math.max(1, Math.ceil(found.length / size));
    const page = Math.min(Math.max(1, Number.parseInt(state.page, 10) || 1), pages);
    state.page = String(page);
    const start = (page - 1) * size;
    const rows = found.slice(start, start + size).map(rowOf);
    if (!rows.length) {
      const cell = element("td", { role: "cell", colspan: String(3 + shownSystems().length), class: "empty" });
      cell.append("No card fits all of these. Loosen a filter or clear them.");
      rows.push(element("tr", { role: "row" }, cell));
    }
    drawHead();
    body.replaceChildren(...rows);
    const amount = (n) => n.toLocaleString("en-GB");
    $("count").textContent = found.length === cards.length
      ? `${amount(cards.length)} cards` : `${amount(found.length)} of ${amount(cards.length)} cards`;
    $("page-of").textContent = `page ${amount(page)} of ${amount(pages)}`;
    $("prev").disabled = page <= 1;
    $("next").disabled = page >= pages;
    $("only-card").hidden = !state.card;
    writeControls();
  }

  // -- controls -------------------------------------------------------------------------------
  const FIELDS = { q: "f-q", label: "f-label", kind: "f-kind", pred: "f-pred", difficulty: "f-difficulty",
    system: "f-system", outcome: "f-outcome", size: "f-size" };
  const CHECKS = { disagree: "f-disagree", controls: "f-controls" };
  function fill(select, values) {
    for (const value of values) select.append(element("option", { value }, value));
  }
  function writeControls() {
    for (const [key, id] of Object.entries(FIELDS)) {
      if ($(id) && $(id).value !== state[key]) $(id).value = state[key];
    }
    for (const [key, id] of Object.entries(CHECKS)) if ($(id)) $(id).checked = state[key] === "1";
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
        timer = setTimeout(() => change({ q: field.value, card: "" }), 120);
      });
      field.addEventListener("keydown", (event) => {
        if (event.key === "Escape") { field.value = ""; change({ q: "" }); }
      });
    } else field.addEventListener("change", () => change({ [key]: field.value, card: "" }));
  }
  for (const [key, id] of Object.entries(CHECKS)) {
    $(id)?.addEventListener("change", (event) => change({ [key]: event.target.checked ? "1" : "" }));
  }
  head.addEventListener("click", (event) => {
    const key = event.target.closest("button")?.dataset.sort;
    if (!key) return;
    if (state.sort !== key) change({ sort: key, dir: "" });
    else if (state.dir !== "desc") change({ dir: "desc" });
    else change({ sort: "", dir: "" });
  });
  const turn = (by) => { change({ page: String(Number(state.page) + by) }); $("cards").scrollIntoView(); };
  $("prev").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
  $("clear").addEventListener("click", () => {
    change({ ...INITIAL, size: state.size, controls: state.controls });
    $("f-q").focus();
  });
  $("expand").addEventListener("click", (event) => {
    expanded = !expanded;
    event.currentTarget.setAttribute("aria-pressed", String(expanded));
    for (const details of body.querySelectorAll("details")) details.open = expanded;
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      $("f-q").focus();
    }
  });
  addEventListener("hashchange", () => {
    if (readHash()) { draw(); $("cards").scrollIntoView(); }
  });
  // On paper nothing can be opened, so print what is on the page opened.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of closed) details.open = false; });

  fill($("f-kind"), data.kinds.slice().sort());
  if ($("f-pred")) fill($("f-pred"), data.preds);
  fill($("f-system"), data.systems.map((system) => system.name));
  const linked = readHash();
  if (state.card && !byId.has(state.card)) state.card = "";
  draw();
  if (linked) $("cards").scrollIntoView();
})();
