// The one way in which this page makes elements. Texts become text nodes, never HTML.
import { Component, createRef, h, render } from "./vendor/preact.mjs";
import htm from "./vendor/htm.mjs";

export const html = htm.bind(h);
export { Component, createRef, render };
