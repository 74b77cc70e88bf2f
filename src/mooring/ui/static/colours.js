// The scale of the heat map: one direction in lightness, so it reads without seeing hues.

// ColorBrewer's YlGnBu, which is safe for the common kinds of colour blindness, without its palest
// step, which a light page would swallow.
const STEPS = ["#edf8b1", "#c7e9b4", "#7fcdbb", "#41b6c4", "#1d91c0", "#225ea8", "#253494", "#081d58"];
const LIGHT = STEPS;
const DARK = [...STEPS].reverse();

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Return the colours from an empty to a full node: full is the strongest contrast to the page. */
export function scale() {
  return dark.matches ? DARK : LIGHT;
}

/** Return the colours of what is drawn beside the cells. */
export function inks() {
  const style = getComputedStyle(document.documentElement);
  const ink = (name) => style.getPropertyValue(name).trim();
  return { text: ink("--text"), quiet: ink("--quiet"), line: ink("--line"), over: ink("--over"), focus: ink("--accent") };
}

/** Return the colour of a share from 0 to 1. */
export function colourOf(value, colours) {
  const step = Math.floor(Math.min(Math.max(value, 0), 0.9999) * colours.length);
  return colours[step];
}

/** Return whether a text on a colour must be light. */
export function isDeep(colour) {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return 0.299 * part(1) + 0.587 * part(3) + 0.114 * part(5) < 140;
}

/** Call a function when the colour scheme changes. */
export function onScheme(listener) {
  dark.addEventListener("change", listener);
  return () => dark.removeEventListener("change", listener);
}
