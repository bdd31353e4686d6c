// The tables of a benchmark's samples: what they hold and how a sample looks. Searching, sorting
// and paging are table.js. A row opens on what was given and on each system's way to its answer.
(() => {
  "use strict";
  const { element, fill, fold, mark, text } = tables;
  const SYMBOL = { right: "✓", held: "○", wrong: "✗", none: "!" };

  function show(root) {
    const anchor = root.dataset.samples;
    const data = JSON.parse(document.getElementById(`${anchor}-data`).textContent);
    const level = `h${Number(/\d/.exec(document.getElementById(`${anchor}-h`).tagName)[0]) + 1}`;
    const { string, folded } = tables.stringTable(data.strings);
    const $ = (id) => document.getElementById(`${anchor}-${id}`);
    const rows = data.rows.map((row, index) => {
      const [id, facets, question, truth, details, answers] = row;
      return { index, id, facets, question, truth, details, answers, text: null };
    });
    const ids = new Set(rows.map((row) => row.id));

    function searchText(row) {
      if (row.text === null) {
        const parts = [row.question, row.truth, ...row.facets];
        for (const answer of row.answers) if (answer) parts.push(answer[1]);
        row.text = [fold(row.id), ...parts.map(folded)].join("\n");
      }
      return row.text;
    }
    function matches(row, state) {
      const system = data.systems.indexOf(state.system);
      const asked = system >= 0 ? [row.answers[system]] : row.answers;
      const wanted = data.marks.findIndex(([, name]) => name === state.mark);
      return data.facets.every((_, at) => !state[`f${at}`] || string(row.facets[at]) === state[`f${at}`]) &&
        (!state.mark || asked.some((answer) => answer && answer[0] === wanted)) &&
        (!state.disagree || new Set(row.answers.filter(Boolean).map(([found]) => found)).size > 1);
    }
    function sortKey(state) {
      if (state.sort === "question") return (row) => folded(row.question);
      const match = /^s(\d+)$/.exec(state.sort);
      if (match && Number(match[1]) < data.systems.length) {
        return (row) => (row.answers[Number(match[1])] || [data.marks.length])[0];
      }
      return null;
    }

    function chip(answer) {
      if (!answer) return element("span", { class: "muted" }, "not asked");
      const [symbol, name, words, look] = data.marks[answer[0]];
      return mark(look, symbol, name, words);
    }
    function compared(title, heads, lines) {
      const row = (look, verdict, name, ...sides) => element("tr", { class: `t-${look}` },
        element("td", { class: "verdict" }, string(verdict)),
        element("th", { scope: "row", dir: "auto" }, string(name)),
        ...sides.map((side) => element("td", { dir: "auto" }, string(side))));
      return element("div", { class: "compared", role: "region", tabindex: "0", "aria-label": title },
        element("table", {}, element("caption", { class: "sr" }, title),
          element("thead", {}, element("tr", {},
            ...heads.map((head) => element("th", { scope: "col" }, string(head))))),
          element("tbody", {}, ...lines.map((line) => row(...line)))));
    }
    function detail([title, form, items, tones]) {
      const nodes = [element(level, {}, string(title))];
      if (form === "compared") {
        nodes.push(compared(string(title), items, tones));
      } else if (form === "code") {
        nodes.push(element("pre", { dir: "auto" }, items.map(string).join("\n")));
      } else if (form === "text") {
        for (const item of items) nodes.push(text("p", "alone", string(item)));
      } else {
        const list = element("ul");
        items.forEach((item, at) => {
          const entry = element("li", { dir: "auto" });
          if (tones[at]) {
            entry.append(element("span", { class: `o-${tones[at]}` },
              element("span", { "aria-hidden": "true" }, SYMBOL[tones[at]]),
              element("span", { class: "sr" }, `${tones[at]}:`), ` ${string(item)}`));
          } else entry.append(string(item));
          list.append(entry);
        });
        nodes.push(list);
      }
      return nodes;
    }
    function rowsOf(row, state, expanded) {
      const node = element("tr", { role: "row" });
      const facets = element("p", { class: "facets" });
      row.facets.forEach((value, at) => facets.append(text("span", at ? "kind" : "tag", string(value))));
      const main = element("td", { role: "cell", class: "c-card" }, facets,
        text("p", "q", string(row.question)), text("p", "proof", string(row.truth)));
      const details = element("details", { class: "row", open: expanded ? "" : null },
        element("summary", {}, "What was given, and what each system made of it"));
      for (const one of row.details) details.append(...detail(one));
      const answers = element("div", { class: "answers" });
      row.answers.forEach((answer, i) => {
        if (!answer) return;
        const summary = element("summary", {}, element("bdi", {}, data.systems[i]), " ", chip(answer));
        const fold = element("details", { class: "answer" }, summary, text("p", "alone", string(answer[1])));
        for (const one of answer[2]) fold.append(...detail(one));
        answers.append(fold);
      });
      const meta = element("p", { class: "meta" }, `${data.noun[0]} `, element("code", {}, row.id), " · ",
        element("a", { href: `#${anchor}?${new URLSearchParams({ id: row.id })}` }, `link to this ${data.noun[0]}`));
      details.append(answers, meta);
      node.append(main);
      row.answers.forEach((answer, i) => {
        node.append(element("td", { role: "cell", "data-head": data.systems[i] }, chip(answer)));
      });
      const columns = String(data.systems.length + 1);
      const more = element("td", { role: "cell", class: "c-more", colspan: columns }, details);
      return [node, element("tr", { role: "row", class: "more" }, more)];
    }

    const fields = { system: "f-system", mark: "f-mark" };
    data.facets.forEach(([, values], at) => {
      fields[`f${at}`] = `f-${at}`;
      fill($(`f-${at}`), values);
    });
    fill($("f-system"), data.systems);
    fill($("f-mark"), data.marks.map(([, name]) => name));
    tables.browse({
      anchor, prefix: `${anchor}-`, head: `${anchor}-head`, body: `${anchor}-rows`, items: rows,
      noun: data.noun, fields, checks: { disagree: "f-disagree" },
      pinned: "id", byId: (id) => ids.has(id), keep: ["size"], opens: "details.row",
      columns: () => [["question", "Question and what is true"], ...data.systems.map((name, i) => [`s${i}`, name])],
      matches, searchText, sortKey, rowsOf,
    });
  }

  document.documentElement.classList.remove("no-js");
  for (const root of document.querySelectorAll("[data-samples]")) show(root);
})();
