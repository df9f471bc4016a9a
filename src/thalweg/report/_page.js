"use strict";

/** The JSON that stands in a panel. */
const dataOf = (panel) => JSON.parse(panel.querySelector("script[type='application/json']").textContent);

/** Each panel of a kind, with its data. */
const panels = (kind, start) =>
  document.querySelectorAll(`.panel.${kind}`).forEach((panel) => start(panel, dataOf(panel)));

/** A number as people write it. */
const figure = (x) => {
  if (x === null || Number.isNaN(x)) return "gap";
  const size = Math.abs(x);
  if (size >= 1e6 || (size < 1e-4 && size > 0)) return x.toExponential(3);
  return String(Number(x.toPrecision(size >= 1e4 ? 6 : 4)));
};

const within = (x, low, high) => Math.min(Math.max(x, low), high);

{
  const root = document.documentElement;
  const button = document.querySelector("button.theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const show = (dark) => {
    button.setAttribute("aria-pressed", dark);
    button.textContent = dark ? "Light" : "Dark";
  };
  show(prefersDark.matches);
  button.setAttribute("aria-label", "Dark colours");
  button.addEventListener("click", () => {
    const dark = button.getAttribute("aria-pressed") !== "true";
    root.style.colorScheme = dark ? "dark" : "light";
    show(dark);
  });
}

document.querySelector("button.copy")?.addEventListener("click", async ({ target }) => {
  const code = document.querySelector(".made code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    target.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code); // ready for the keyboard
    target.textContent = "Selected";
  }
  setTimeout(() => { target.textContent = "Copy"; }, 2000);
});
