// The one way in which this page makes elements. Texts become text nodes, never HTML, in which control
// characters and those that reorder text are escaped, as the commands print them.
import { Component, createRef, h, render } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

function escaped(character) {
  const code = character.charCodeAt(0);
  return code < 256
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

function printable(value) {
  if (Array.isArray(value)) return value.map(printable);
  return typeof value === "string" ? value.replace(CONTROL, escaped) : value;
}

/** Return the attributes of an element; a label that people hear is escaped, too. */
function attributes(given) {
  const label = given && given["aria-label"];
  return label ? { ...given, "aria-label": printable(label) } : given;
}

export const html = htm.bind((type, given, ...children) =>
  h(type, attributes(given), ...children.map(printable)),
);
export { Component, createRef, render };
