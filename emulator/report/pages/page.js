"use strict";
// Opens and highlights the entry that a link or the address names.
function show() {
  const id = decodeURIComponent(location.hash.slice(1));
  const found = id && document.getElementById(id);
  for (const one of document.querySelectorAll(".target")) one.classList.remove("target");
  if (!found || !found.classList.contains("entry")) return;
  found.open = true;
  found.classList.add("target");
  const summary = found.querySelector("summary");
  summary.focus({ preventScroll: true });
  found.scrollIntoView({ block: "start" });
}
addEventListener("hashchange", show);
addEventListener("click", (event) => {
  const link = event.target.closest && event.target.closest("a");
  const target = link && (link.getAttribute("href") || "");
  if (target && target.startsWith("#") && target === location.hash) show();
});
// On paper a tall figure fits below the head of the page, and of many entries, which a table lists, the first are open.
const PAGE = 560, SMALLEST = 0.4, MOST_OPEN = 20;
// Lines of the report as text stay whole: their tables could not be read otherwise. Pixels; a character is as wide as 0.61 of its size.
const PAPER = 640, CHARACTER = 0.61, LARGEST = 11, LEAST = 4;
function fitted(text) {
  const longest = Math.max(...text.split("\n").map((line) => line.length));
  return Math.max(LEAST, Math.min(LARGEST, PAPER / (CHARACTER * longest)));
}
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not(.entry)")) one.open = true;
  for (const part of document.querySelectorAll("section"))
    for (const one of [...part.querySelectorAll(".entry")].slice(0, MOST_OPEN)) one.open = true;
  for (const one of document.querySelectorAll(".plot"))
    one.style.zoom = Math.max(SMALLEST, Math.min(1, PAGE / one.offsetHeight));
  for (const one of document.querySelectorAll(".terminal"))
    one.style.fontSize = `${fitted(one.textContent)}px`;
});
addEventListener("afterprint", () => {
  for (const one of document.querySelectorAll(".plot")) one.style.zoom = "";
  for (const one of document.querySelectorAll(".terminal")) one.style.fontSize = "";
});
show();
