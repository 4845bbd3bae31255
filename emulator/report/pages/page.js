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
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details")) one.open = true;
});
show();
