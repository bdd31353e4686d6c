// The interactive picture: zoom, pan, drag, search, details. Its data is embedded in the page as
// JSON and inserted only as text nodes and as attributes; nothing is parsed as markup.
// Without this script the page shows the static picture, the legend and the tables.
(() => {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const source = $("graph-data");
  const svg = $("graph");
  if (!source || !svg) return;
  const data = JSON.parse(source.textContent);
  document.documentElement.classList.remove("no-js");

  const world = $("world");
  const canvas = $("canvas");
  const dots = Array.from($("dots").children);
  const lines = Array.from($("lines").children);
  const sayings = Array.from($("sayings")?.children ?? []).map((node) => [Number(node.dataset.link), node]);
  const tips = svg.querySelectorAll("marker");
  const names = dots.map((dot) => dot.querySelector(".name"));
  const spots = data.nodes.map((node) => ({ x: node.x, y: node.y }));
  const links = data.links.map(([a, b, weight, npmi, words, bend]) => ({ a, b, weight, npmi, words, bend }));
  const near = data.nodes.map(() => []);
  links.forEach((link, at) => { near[link.a].push([link.b, at]); near[link.b].push([link.a, at]); });
  const amount = (n) => n.toLocaleString("en-GB");
  const fold = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();
  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  // -- positions on the screen ----------------------------------------------------------------
  // Positions are stored in the units of the static picture and scaled to the actual box, which has
  // other proportions on a phone. When zooming in, nodes grow more slowly than distances.
  let width = 1, height = 1, base = 1;
  let zoom = 1, left = 0, top = 0;
  const px = (at) => spots[at].x / data.width * width;
  const py = (at) => spots[at].y / data.height * height;

  function put(at) {
    const x = px(at), y = py(at);
    dots[at].setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    for (const [, line] of near[at]) putLine(line);
  }
  // Arrows end at the border of a node, whose size on the screen depends on the zoom.
  function middle({ a, b, bend }) {
    const [x1, y1, x2, y2] = [px(a), py(a), px(b), py(b)];
    return [(x1 + x2) / 2 - bend * (y2 - y1), (y1 + y2) / 2 + bend * (x2 - x1)];
  }
  function putLine(at) {
    const link = links[at];
    let [x1, y1, x2, y2] = [px(link.a), py(link.a), px(link.b), py(link.b)];
    if (data.weighted) {
      lines[at].setAttribute("d", `M${x1.toFixed(1)} ${y1.toFixed(1)}L${x2.toFixed(1)} ${y2.toFixed(1)}`);
      return;
    }
    const [mx, my] = middle(link);
    const cx = 2 * mx - (x1 + x2) / 2, cy = 2 * my - (y1 + y2) / 2;
    const trimmed = (x, y, end) => {
      const length = Math.hypot(cx - x, cy - y) || 1;
      const back = Math.min(data.nodes[end].r * scale() + 3 / zoom, length / 2);
      return [x + (cx - x) / length * back, y + (cy - y) / length * back];
    };
    [x1, y1] = trimmed(x1, y1, link.a);
    [x2, y2] = trimmed(x2, y2, link.b);
    const numbers = [x1, y1, cx, cy, x2, y2].map((n) => n.toFixed(1));
    lines[at].setAttribute("d", `M${numbers[0]} ${numbers[1]}Q${numbers.slice(2).join(" ")}`);
  }
  function putSayings() {
    for (const [at, node] of sayings) {
      const [x, y] = middle(links[at]);
      node.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${(1 / zoom).toFixed(4)})`);
    }
  }
  const scale = () => base / zoom ** 0.72;

  function move() {
    world.setAttribute("transform", `translate(${left.toFixed(1)} ${top.toFixed(1)}) scale(${zoom.toFixed(4)})`);
    svg.style.setProperty("--s", scale().toFixed(4));
    for (const tip of tips) for (const side of ["markerWidth", "markerHeight"]) tip.setAttribute(side, tip.dataset.size / zoom);
    if (!data.weighted) lines.forEach((_, at) => putLine(at));
    putSayings();
    schedule();
  }
  let waiting = 0;
  function schedule() {
    if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; placeNames(); });
  }
  function fit() {
    const box = svg.getBoundingClientRect();
    if (!box.width || !box.height) return;
    width = box.width; height = box.height;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    base = Math.min(1.15, Math.max(0.62, Math.sqrt(width * height / (data.width * data.height))));
    spots.forEach((_, at) => put(at));
    move();
  }

  // Names are placed where they cover neither each other nor a node, the most important first.
  const order = dots.map((_, at) => at).sort((a, b) =>
    dots[b].classList.contains("asked") - dots[a].classList.contains("asked") || a - b);
  const widths = new Map();
  function nameWidth(at) {
    let found = widths.get(at);
    if (found === undefined) widths.set(at, (found = names[at].textContent.length * 6.4));
    return found;
  }
  function placeNames() {
    const s = scale(), grow = s * zoom;
    const shown = [];
    const circles = [];
    for (const at of order) {
      const x = px(at) * zoom + left, y = py(at) * zoom + top;
      if (x < -40 || y < -40 || x > width + 40 || y > height + 40) continue;
      const r = data.nodes[at].r * grow;
      shown.push([at, x, y, r]);
      circles.push([x - r, y - r, x + r, y + r, at]);
    }
    const taken = sayings.map(([at, node]) => {
      const [mx, my] = middle(links[at]);
      const x = mx * zoom + left, y = my * zoom + top;
      const rows = node.children.length;
      const half = Math.max(...Array.from(node.children, (row) => row.textContent.length)) * 3;
      return [x - half, y - 6 - 7 * rows, x + half, y + 7 * rows - 6, -1];
    });
    for (const [at, x, y, r] of shown) {
      const w = nameWidth(at) * grow, h = 13 * grow, gap = 4 * grow;
      const sides = [
        ["start", r + gap, h * 0.3], ["end", -r - gap, h * 0.3],
        ["middle", 0, r + h], ["middle", 0, -r - gap],
      ];
      if (!data.weighted) sides.unshift(...sides.splice(2));
      let fits = false;
      for (const [anchor, dx, dy] of sides) {
        const x1 = x + dx - (anchor === "start" ? 0 : anchor === "end" ? w : w / 2);
        const box = [x1, y + dy - h * 0.8, x1 + w, y + dy + h * 0.25];
        if (box[0] < 2 || box[2] > width - 2 || box[1] < 2 || box[3] > height - 2) continue;
        const hit = (other) => other[4] !== at && box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3];
        if (circles.some(hit) || taken.some(hit)) continue;
        taken.push([...box, -1]);
        setName(at, anchor, dx / grow, dy / grow);
        fits = true;
        break;
      }
      if (!fits) {
        const [anchor, dx, dy] = data.weighted && x > width - nameWidth(at) * grow - 30 ? sides[1] : sides[0];
        setName(at, anchor, dx / grow, dy / grow);
      }
      names[at].classList.toggle("crowded", !fits);
    }
  }
  function setName(at, anchor, x, y) {
    const name = names[at];
    name.setAttribute("text-anchor", anchor);
    name.setAttribute("x", x.toFixed(1));
    name.setAttribute("y", y.toFixed(1));
  }

  // -- zoom and pan ---------------------------------------------------------------------------
  const LEAST = 0.6, MOST = 12;
  function zoomBy(factor, x = width / 2, y = height / 2) {
    const next = Math.min(MOST, Math.max(LEAST, zoom * factor));
    left = x - (x - left) * next / zoom;
    top = y - (y - top) * next / zoom;
    zoom = next;
    move();
  }
  function whole() { zoom = 1; left = 0; top = 0; move(); }
  function centre(at, least) {
    zoom = Math.max(zoom, least);
    left = width / 2 - px(at) * zoom;
    top = height / 2 - py(at) * zoom;
    move();
  }
  function inView(at) {
    const x = px(at) * zoom + left, y = py(at) * zoom + top;
    return x > 20 && y > 20 && x < width - 20 && y < height - 20;
  }
  $("zoom-in").addEventListener("click", () => zoomBy(1.5));
  $("zoom-out").addEventListener("click", () => zoomBy(1 / 1.5));
  $("zoom-reset").addEventListener("click", () => {
    data.nodes.forEach((node, at) => { spots[at] = { x: node.x, y: node.y }; });
    whole();
    fit();
  });
  const local = (event) => {
    const box = svg.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // The page scrolls as it does everywhere else.
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * 0.0035), ...local(event));
  }, { passive: false });
  svg.addEventListener("dblclick", (event) => {
    if (event.target.closest(".n")) return;
    zoomBy(1.8, ...local(event));
  });

  const fingers = new Map();
  let grip = null; // what is being dragged: a node, or the picture
  let dragged = false;
  svg.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    fingers.set(event.pointerId, local(event));
    const dot = event.target.closest(".n");
    dragged = false;
    grip = { at: dot ? dots.indexOf(dot) : -1, from: local(event), left, top };
    if (grip.at >= 0) grip.spot = { ...spots[grip.at] };
  });
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = Array.from(fingers.values());
    fingers.set(event.pointerId, local(event));
    const now = Array.from(fingers.values());
    if (now.length === 2) {
      const span = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
      zoomBy(span(now) / span(before), (now[0][0] + now[1][0]) / 2, (now[0][1] + now[1][1]) / 2);
      dragged = true;
      grip = null;
      return;
    }
    if (!grip) return;
    const [x, y] = local(event);
    const dx = x - grip.from[0], dy = y - grip.from[1];
    if (!dragged && Math.hypot(dx, dy) < 4) return;
    dragged = true;
    hideTip();
    if (grip.at >= 0) {
      spots[grip.at] = {
        x: grip.spot.x + dx / zoom / width * data.width, y: grip.spot.y + dy / zoom / height * data.height };
      put(grip.at);
      putSayings();
      schedule();
    } else {
      svg.classList.add("panning");
      left = grip.left + dx;
      top = grip.top + dy;
      move();
    }
  });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, (event) => {
      fingers.delete(event.pointerId);
      if (!fingers.size) { grip = null; svg.classList.remove("panning"); }
    });
  }

  // -- highlighting ---------------------------------------------------------------------------
  let picked = -1;
  let group = null;
  let found = null; // indices of the nodes that a search found
  const tooLight = (at) => lines[at].classList.contains("light");
  const hidden = (at) => tooLight(at) || (lines[at].classList.contains("extra") && !svg.classList.contains("all"));
  function light(pointed = -1) {
    const lit = new Set();
    const litLines = new Set();
    // All links of the opened node are drawn, since its details list them.
    const addWith = (at) => {
      lit.add(at);
      for (const [other, line] of near[at]) {
        if (at === picked ? !tooLight(line) : !hidden(line)) { lit.add(other); litLines.add(line); }
      }
    };
    if (pointed >= 0) addWith(pointed);
    else if (found) found.forEach((at) => lit.add(at));
    else if (group !== null) data.nodes.forEach((node, at) => { if (node.group === group) lit.add(at); });
    else if (picked >= 0) addWith(picked);
    svg.classList.toggle("dim", lit.size > 0);
    dots.forEach((dot, at) => dot.classList.toggle("lit", lit.has(at)));
    lines.forEach((line, at) => line.classList.toggle("lit", litLines.has(at)));
    for (const [at, node] of sayings) node.classList.toggle("lit", litLines.has(at));
  }
  const tip = $("tip");
  function groupName(at) { return data.groups[data.nodes[at].group] ?? data.words.ungrouped; }
  function showTip(at) {
    const node = data.nodes[at];
    tip.replaceChildren(element("b", {}, element("bdi", {}, node.label)),
      element("br"), `${amount(node.count)} ${data.words.count} · `, element("bdi", {}, groupName(at)));
    tip.hidden = false;
    const x = px(at) * zoom + left, y = py(at) * zoom + top;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(Math.max(4, x - box.width / 2), Math.max(4, width - box.width - 4))}px`;
    const above = y - data.nodes[at].r * scale() * zoom - box.height - 20;
    tip.style.top = `${above > 4 ? above : y + data.nodes[at].r * scale() * zoom + 22}px`;
  }
  function hideTip() { tip.hidden = true; }
  svg.addEventListener("pointerover", (event) => {
    const at = dots.indexOf(event.target.closest(".n"));
    if (at < 0 || event.pointerType === "touch" || grip) return;
    light(at);
    showTip(at);
  });
  svg.addEventListener("pointerout", (event) => {
    if (!event.target.closest(".n")) return;
    hideTip();
    light();
  });

  // -- details --------------------------------------------------------------------------------
  const panel = $("details");
  const said = (link) => (data.weighted
    ? `${amount(link.weight)} · ${link.npmi === null ? "–" : link.npmi.toFixed(2)}` : link.words);
  // Marks the concept's spellings in a passage, the longest first.
  function marked(text, spellings) {
    const wanted = spellings.filter((word) => word && !word.startsWith("…")).sort((a, b) => b.length - a.length)
      .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    if (!wanted.length) return [text];
    const parts = text.split(new RegExp(`(${wanted.join("|")})`, "giu"));
    return parts.map((part, at) => (at % 2 ? element("mark", {}, part) : part));
  }
  function open(at, { focus = false } = {}) {
    const node = data.nodes[at];
    dots[picked]?.classList.remove("picked");
    picked = at;
    dots[at].classList.add("picked");
    rove(at);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close the details" }, "✕");
    close.addEventListener("click", shut);
    const parts = [close, element("h3", {}, element("bdi", {}, node.label)),
      element("p", { class: "muted" }, `${amount(node.count)} ${data.words.count} · `, element("bdi", {}, groupName(at)))];
    if (node.aliases.length) parts.push(element("p", {}, "Also ", element("bdi", {}, node.aliases.join(", "))));
    const seen = new Map();
    for (const [other, line] of near[at]) seen.set(line, other);
    const rows = Array.from(seen).sort(([p], [q]) => links[q].weight * Math.max(links[q].npmi ?? 1, 0.01)
      - links[p].weight * Math.max(links[p].npmi ?? 1, 0.01) || p - q);
    if (rows.length) {
      parts.push(element("h4", {}, data.weighted ? `Linked with (${data.words.count} with both · NPMI)` : "Linked with"));
      const list = element("ul", { class: "near" });
      for (const [line, other] of rows.slice(0, 40)) {
        const button = element("button", { type: "button" }, element("bdi", {}, data.nodes[other].label), element("span", {}, said(links[line])));
        button.addEventListener("click", () => { if (!inView(other)) centre(other, zoom); open(other); });
        list.append(element("li", {}, button));
      }
      parts.push(list);
      const more = node.links - Math.min(rows.length, 40);
      if (more > 0) parts.push(element("p", { class: "muted" }, `${amount(more)} weaker links are not shown.`));
    }
    if (node.places.length) {
      parts.push(element("h4", {}, "Where"), element("p", {}, element("bdi", {}, node.places.join(" · "))));
    }
    if (node.texts.length) {
      parts.push(element("h4", {}, data.words.texts));
      for (const number of node.texts) {
        const [title, text] = data.texts[number];
        const body = element("p", {}, element("bdi", {}, ...marked(text, [node.label, ...node.aliases])));
        parts.push(title ? element("details", {}, element("summary", {}, element("bdi", {}, title)), body) : body);
      }
      if (node.left) parts.push(element("p", { class: "muted" }, `${amount(node.left)} more are not on this page.`));
    }
    panel.replaceChildren(...parts);
    panel.hidden = false;
    panel.scrollTop = 0;
    light();
    history.replaceState(null, "", `#row-${at}`);
    if (focus) close.focus();
  }
  function shut() {
    if (picked < 0) return;
    const at = picked;
    dots[at].classList.remove("picked");
    const inside = panel.contains(document.activeElement);
    picked = -1;
    panel.hidden = true;
    panel.replaceChildren();
    light();
    history.replaceState(null, "", location.pathname + location.search);
    if (inside) dots[at].focus();
  }
  svg.addEventListener("click", (event) => {
    const dot = event.target.closest(".n");
    if (dot) event.preventDefault();
    if (dragged) { dragged = false; return; }
    if (dot) { hideTip(); open(dots.indexOf(dot)); } else shut();
  });

  // -- keyboard: one node is in the tab order; arrow keys move to the next in their direction ----
  function rove(at) {
    dots.forEach((dot, other) => dot.setAttribute("tabindex", other === at ? "0" : "-1"));
  }
  const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  function towards(at, [dx, dy]) {
    let best = -1, least = Infinity;
    spots.forEach((_, other) => {
      const x = px(other) - px(at), y = py(other) - py(at);
      const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx);
      if (other === at || along <= 0 || aside > along * 2) return;
      const far = along + aside * 2;
      if (far < least) { least = far; best = other; }
    });
    return best;
  }
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = dots.indexOf(event.target.closest(".n"));
    if (at < 0) return;
    let next = -1;
    if (event.key in ARROWS) next = towards(at, ARROWS[event.key]);
    else if (event.key === "Home") next = 0;
    else if (event.key === "End") next = dots.length - 1;
    else if (event.key === "+" || event.key === "=") zoomBy(1.4, px(at) * zoom + left, py(at) * zoom + top);
    else if (event.key === "-") zoomBy(1 / 1.4, px(at) * zoom + left, py(at) * zoom + top);
    else if (event.key === "0") whole();
    else if (event.key === "Enter" || event.key === " ") open(at, { focus: true });
    else return;
    event.preventDefault();
    if (next >= 0) {
      if (!inView(next)) centre(next, zoom);
      rove(next);
      dots[next].focus({ preventScroll: true });
    }
  });
  svg.addEventListener("focusin", (event) => {
    const at = dots.indexOf(event.target.closest(".n"));
    if (at >= 0 && event.target.matches(":focus-visible")) { light(at); showTip(at); }
  });
  svg.addEventListener("focusout", () => { hideTip(); light(); });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "");
    if (event.key === "Escape") { if (found) clearFound(); else shut(); }
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      $("f-find").focus();
    }
  });

  // -- search ---------------------------------------------------------------------------------
  const field = $("f-find");
  const results = $("found");
  const folded = data.nodes.map((node) => [fold(node.label), ...node.aliases.map(fold)]);
  function search() {
    const wanted = fold(field.value.trim());
    if (!wanted) { found = null; results.replaceChildren(); light(); return; }
    const rank = (at) => Math.min(...folded[at].map((name) => (name === wanted ? 0 : name.startsWith(wanted) ? 1 : name.includes(wanted) ? 2 : 3)));
    const hits = folded.map((_, at) => [rank(at), at]).filter(([r]) => r < 3).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    found = hits.map(([, at]) => at);
    const items = found.slice(0, 8).map((at) => {
      const button = element("button", { type: "button" }, element("bdi", {}, data.nodes[at].label));
      button.addEventListener("click", () => take(at));
      return element("li", {}, button);
    });
    const told = found.length > 8 ? `and ${amount(found.length - 8)} more` : found.length ? "" : `No such ${data.words.node} in this picture.`;
    if (told) items.push(element("li", {}, told));
    results.replaceChildren(...items);
    light();
  }
  function clearFound() { field.value = ""; search(); }
  function take(at) {
    clearFound();
    if (data.nodes.length > 30) centre(at, 2); else if (!inView(at)) centre(at, zoom);
    open(at);
  }
  field.addEventListener("input", search);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && found?.length) { event.preventDefault(); take(found[0]); }
  });

  // -- which links and groups -----------------------------------------------------------------
  $("f-weight")?.addEventListener("input", (event) => {
    const least = Number(event.target.value);
    $("weight-out").textContent = amount(least);
    lines.forEach((line, at) => line.classList.toggle("light", links[at].weight < least));
    light();
  });
  $("f-all")?.addEventListener("change", (event) => { svg.classList.toggle("all", event.target.checked); light(); });
  for (const item of $("legend").children) {
    const button = element("button", { type: "button", "aria-pressed": "false" });
    button.append(...item.childNodes);
    item.append(button);
    button.addEventListener("click", () => {
      const number = Number(item.dataset.group);
      group = group === number ? null : number;
      for (const other of $("legend").children) {
        other.firstElementChild.setAttribute("aria-pressed", String(Number(other.dataset.group) === group));
      }
      light();
    });
  }

  rove(0);
  new ResizeObserver(fit).observe(canvas);
  fit();
  function fromAddress() {
    const hit = /^#row-(\d+)$/.exec(location.hash);
    if (hit && Number(hit[1]) < dots.length) open(Number(hit[1]));
  }
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
