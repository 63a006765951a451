"use strict";
// The page reads fully without this script. It adds: open or close all details, open the one a link points at,
// and print with everything open.
(() => {
  const all = () => document.querySelectorAll("main details");
  const toggle = document.querySelector("[data-toggle-all]");
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => {
      const open = toggle.getAttribute("aria-pressed") !== "true";
      document.querySelectorAll("#worst details").forEach((d) => { d.open = open; });
      toggle.setAttribute("aria-pressed", String(open));
      toggle.textContent = open ? "Close all" : "Open all";
    });
  }
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", follow);
  follow();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...all()].filter((d) => !d.open);
    closed.forEach((d) => { d.open = true; });
  });
  window.addEventListener("afterprint", () => { closed.forEach((d) => { d.open = false; }); });
})();
