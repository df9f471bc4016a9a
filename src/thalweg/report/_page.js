"use strict";

/** Parse the JSON block of a panel. */
const dataOf = (panel) => JSON.parse(panel.querySelector("script[type='application/json']").textContent);

/** Call a function with each panel of a kind and its data. */
const panels = (kind, start) =>
  document.querySelectorAll(`.panel.${kind}`).forEach((panel) => start(panel, dataOf(panel)));

/** Format an integer; from five digits on with thousands separators. */
const grouped = (x) => (Math.abs(x) < 1e4 ? String(x) : String(x).replace(/\B(?=(\d{3})+$)/g, "\u202f"));

/** Format a number for readers. */
const formatNumber = (x) => {
  if (x === null || Number.isNaN(x)) return "gap";
  const size = Math.abs(x);
  if (Number.isInteger(x) && size < 1e7) return grouped(x);
  if (size >= 1e6 || (size < 1e-4 && size > 0)) return x.toExponential(3);
  return String(Number(x.toPrecision(size >= 1e4 ? 6 : 4)));
};

/** Clip a number to an interval. */
const clip = (x, low, high) => Math.min(Math.max(x, low), high);

{
  const button = document.querySelector("button.theme");
  let dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => { button.textContent = dark ? "Light colours" : "Dark colours"; };
  button.addEventListener("click", () => {
    dark = !dark;
    document.documentElement.style.colorScheme = dark ? "dark" : "light";
    label();
  });
  label();
}

document.querySelector("button.copy")?.addEventListener("click", async ({ target }) => {
  const code = document.querySelector(".made code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    target.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code); // so that Ctrl+C copies it
    target.textContent = "Selected";
  }
  setTimeout(() => { target.textContent = "Copy"; }, 2000);
});
