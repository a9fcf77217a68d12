"use strict";

// Tables that sort by any column and are filtered by a text. Rows are drawn a page at a time.
const PAGE = 100;
const collator = new Intl.Collator(undefined, { numeric: true });

function compare(a, b) {
  if (a === null || b === null) return (a !== null) - (b !== null);
  return typeof a === "number" ? a - b : collator.compare(a, b);
}

function written(value) {
  if (value === null) return "–";
  if (typeof value !== "number") return value;
  const short = Number(value.toPrecision(6));
  return short !== 0 && Math.abs(short) < 1e-4 ? short.toExponential() : String(short);
}

function bar(value, most) {
  const track = document.createElement("span");
  const filled = document.createElement("i");
  track.className = value < 0 ? "bar negative" : "bar";
  filled.style.width = `${(50 * Math.abs(value)) / most}%`;
  track.append(filled);
  return track;
}

function sortable(root) {
  const { columns, filter, bars } = JSON.parse(root.querySelector("script").textContent);
  const rows = columns[0].map((_, row) => row);
  const texts = filter === null ? [] : columns[filter].map((text) => text.toLowerCase());
  const most = bars.reduce((m, j) => columns[j].reduce((k, v) => Math.max(k, Math.abs(v)), m), 0);
  const body = root.querySelector("tbody");
  const heads = [...root.querySelectorAll("th")];
  const search = root.querySelector("input");
  const more = root.querySelector(".more");
  const count = root.querySelector("output");
  let sorted = rows;
  let found = rows;

  function cell(column, j, row) {
    const td = document.createElement("td");
    const text = document.createElement("span");
    text.textContent = written(column[row]);
    if (typeof column[row] === "number") td.className = "number";
    if (bars.includes(j)) td.append(bar(column[row], most || 1));
    td.append(text);
    return td;
  }

  function draw(from) {
    const to = Math.min(found.length, from + (from ? 10 * PAGE : PAGE));
    const drawn = found.slice(from, to).map((row) => {
      const tr = document.createElement("tr");
      tr.append(...columns.map((column, j) => cell(column, j, row)));
      return tr;
    });
    if (from) body.append(...drawn);
    else body.replaceChildren(...drawn);
    more.hidden = to === found.length;
    more.textContent = `Show more: ${(found.length - to).toLocaleString("en")} are left`;
  }

  function narrow() {
    const wanted = search ? search.value.trim().toLowerCase() : "";
    found = wanted ? sorted.filter((row) => texts[row].includes(wanted)) : sorted;
    const all = `${rows.length.toLocaleString("en")} row${rows.length === 1 ? "" : "s"}`;
    count.textContent = wanted ? `${found.length.toLocaleString("en")} of ${all}` : all;
    draw(0);
  }

  function sort(j) {
    const before = heads[j].ariaSort;
    const first = bars.includes(j) ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    heads.forEach((head) => (head.ariaSort = "none"));
    heads[j].ariaSort = before === first ? other : first;
    const sign = heads[j].ariaSort === "ascending" ? 1 : -1;
    sorted = [...rows].sort((a, b) => sign * compare(columns[j][a], columns[j][b]));
    narrow();
  }

  heads.forEach((head, j) => {
    if (typeof columns[j][0] === "number") head.className = "number";
    head.querySelector("button").addEventListener("click", () => sort(j));
  });
  root.style.setProperty("--bars", bars.length);
  if (search) search.addEventListener("input", narrow);
  more.addEventListener("click", () => draw(body.children.length));
  narrow();
}

document.querySelectorAll(".sortable").forEach(sortable);
