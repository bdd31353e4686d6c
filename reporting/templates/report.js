// The tables of all cards and of failures: their data and how a card is drawn. Searching, sorting and
// paging are in table.js.
(() => {
  "use strict";
  const { element, fill, fold, mark, text } = tables;
  const $ = (id) => document.getElementById(id);
  const source = $("card-data");
  if (!source) return;
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

  // One object per card. `text`, the searchable text, is built when it is first needed.
  const cards = data.cards.map((row, index) => {
    const [id, label, kind, difficulty, pred, question, facts, rules, proof, cardProof, preds,
      reasons] = row;
    const gold = GOLD[label];
    const outcomes = Array.from(preds, (p) => outcome(gold, p));
    return { index, id, label, kind, difficulty, pred, question, facts, rules, proof, cardProof, preds,
      reasons, outcomes, text: null };
  });
  const ids = new Set(cards.map((card) => card.id));
  const { string, folded } = tables.stringTable(data.strings);
  function searchText(card) {
    if (card.text === null) {
      const parts = [card.question, ...card.facts, card.proof].map(folded);
      card.text = [fold(card.id), fold(data.kinds[card.kind]), ...parts].join("\n");
    }
    return card.text;
  }

  // -- filtering and sorting ------------------------------------------------------------------
  function disagreement(card) {
    const said = new Set();
    data.systems.forEach((system, i) => {
      if (!system.control && card.preds[i] !== "-") said.add(card.preds[i]);
    });
    return said.size > 1;
  }
  function hits(card, i, wanted) {
    switch (wanted) {
      case "": return true;
      case "not-right": return card.outcomes[i] !== "right";
      case "right": case "held": case "wrong": case "none": return card.outcomes[i] === wanted;
      default: return PRED[card.preds[i]] === wanted;
    }
  }
  function matches(card, state) {
    const system = data.systems.findIndex((s) => s.name === state.system);
    const visible = data.systems.map((s, i) => i).filter((i) => !data.systems[i].control);
    const asked = system >= 0 ? [system] : visible.length ? visible : data.systems.map((s, i) => i);
    return (!state.label || card.label === state.label) &&
      (!state.kind || data.kinds[card.kind] === state.kind) &&
      (!state.pred || data.preds[card.pred] === state.pred) &&
      (!state.difficulty || card.difficulty === state.difficulty) &&
      (!state.disagree || disagreement(card)) &&
      (!state.outcome || asked.some((i) => hits(card, i, state.outcome)));
  }
  function sortKey(state) {
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
  const shownSystems = (state) =>
    data.systems.map((s, i) => i).filter((i) => state.controls === "1" || !data.systems[i].control);
  function chip(card, i) {
    const kind = card.outcomes[i];
    if (kind === "absent") return element("span", { class: "muted" }, "not asked");
    return mark(kind, WORD[kind].symbol, PRED[card.preds[i]], WORD[kind].words);
  }
  function list(title, items) {
    const nodes = [element("h4", {}, title)];
    const ul = element("ul");
    for (const item of items) ul.append(element("li", { dir: "auto" }, string(item)));
    nodes.push(ul);
    return nodes;
  }
  function detailsOf(card, state, expanded, withProof) {
    const details = element("details", expanded ? { open: "" } : {});
    const count = card.facts.length;
    details.append(element("summary", {}, `${count} ${count === 1 ? "fact" : "facts"}`
      + (card.rules.length ? `, ${card.rules.length} ${card.rules.length === 1 ? "rule" : "rules"}` : "")
      + (withProof ? ", proof" : "") + " and each system's reply"));
    if (withProof) details.append(element("h4", {}, "Proof"), text("p", "alone", string(card.proof)));
    details.append(...list("Facts on the card", card.facts));
    if (card.rules.length) details.append(...list("Rules on the card", card.rules));
    if (card.cardProof >= 0) {
      details.append(element("h4", {}, "From the card alone"), text("p", "alone", string(card.cardProof)));
    }
    const reasons = shownSystems(state).filter((i) => card.reasons[i] >= 0);
    if (reasons.length) {
      details.append(element("h4", {}, "Replies of the systems"));
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
    return details;
  }
  function rowsOf(card, state, expanded) {
    const row = element("tr", { role: "row" });
    const label = element("td", { role: "cell", class: "c-label" });
    label.append(element("span", { class: "tag" }, data.labels[card.label]),
      element("span", { class: "kind", dir: "auto" }, data.kinds[card.kind]));
    const main = element("td", { role: "cell", class: "c-card" });
    main.append(text("p", "q", string(card.question)), text("p", "proof", string(card.proof)));
    main.append(detailsOf(card, state, expanded, false));
    row.append(label, main, element("td", { role: "cell", class: "c-gold", "data-head": "gold" }, PRED[GOLD[card.label]]));
    for (const i of shownSystems(state)) {
      const system = data.systems[i];
      const cell = element("td", { role: "cell", class: system.control ? "control" : null, "data-head": system.name });
      cell.append(chip(card, i));
      row.append(cell);
    }
    return [row];
  }
  // In a row of the table of failures each system's cell has its reply as well as its answer.
  function failureRowsOf(card, state, expanded) {
    const row = element("tr", { role: "row" });
    const main = element("td", { role: "cell", class: "c-card" });
    main.append(text("p", "q", string(card.question)),
      element("span", { class: "tag" }, data.labels[card.label]),
      element("span", { class: "kind", dir: "auto" }, data.kinds[card.kind]),
      detailsOf(card, state, expanded, true));
    row.append(main, element("td", { role: "cell", class: "c-gold", "data-head": "gold" }, PRED[GOLD[card.label]]));
    for (const i of shownSystems(state)) {
      const cell = element("td", { role: "cell", class: "c-said", "data-head": data.systems[i].name });
      cell.append(chip(card, i));
      if (card.reasons[i] >= 0) cell.append(text("span", "said", string(card.reasons[i])));
      row.append(cell);
    }
    return [row];
  }
  const failureColumns = (state) => [["question", "Card"], ["gold", "Gold"],
    ...shownSystems(state).map((i) => [`s${i}`, data.systems[i].name])];

  function columns(state) {
    const own = [["label", "Label and kind"], ["question", "Question and proof"], ["gold", "Gold"]];
    for (const i of shownSystems(state)) {
      own.push([`s${i}`, data.systems[i].name, data.systems[i].control ? "control" : null]);
    }
    return own;
  }

  fill($("f-kind"), data.kinds.slice().sort());
  if ($("f-pred")) fill($("f-pred"), data.preds);
  fill($("f-system"), data.systems.map((system) => system.name));
  tables.browse({
    anchor: "cards", prefix: "", head: "card-head", body: "card-rows", items: cards, noun: ["card", "cards"],
    fields: { label: "f-label", kind: "f-kind", pred: "f-pred", difficulty: "f-difficulty",
      system: "f-system", outcome: "f-outcome" },
    checks: { disagree: "f-disagree", controls: "f-controls" },
    pinned: "card", byId: (id) => ids.has(id), keep: ["size", "controls"], opens: "details",
    columns, matches, searchText, sortKey, rowsOf,
  });

  if (data.failures.length) {
    const failures = data.failures.map((position) => cards[position]);
    const failed = new Set(failures.map((card) => card.id));
    fill($("x-f-kind"), [...new Set(failures.map((card) => data.kinds[card.kind]))].sort());
    fill($("x-f-system"), data.systems.filter((system) => !system.control).map((system) => system.name));
    // With a system but no failure chosen, only the cards on which that system failed are shown.
    function failedOn(card, name) {
      const i = data.systems.findIndex((system) => system.name === name);
      return i < 0 || !["right", "absent"].includes(card.outcomes[i]);
    }
    tables.browse({
      anchor: "failures", prefix: "x-", head: "failure-head", body: "failure-rows", items: failures,
      noun: ["card", "cards"], columns: failureColumns, rowsOf: failureRowsOf,
      fields: { label: "f-label", kind: "f-kind", system: "f-system", outcome: "f-outcome" },
      checks: { disagree: "f-disagree" }, pinned: "card", byId: (id) => failed.has(id),
      keep: ["size"], opens: "details",
      matches: (card, state) => failedOn(card, state.system) && matches(card, state), searchText, sortKey,
    });
  }
})();
