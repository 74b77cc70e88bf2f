// Links to what the page shows of a node or a pod.
import { html } from "./html.js";

export function nodePath(name) {
  return `#/node/${encodeURIComponent(name)}`;
}

/** Return the address of a pod, or of one of its attempts: a number, or "now". */
export function podPath(namespace, name, attempt = "") {
  const path = `#/pod/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
  return attempt ? `${path}/${attempt}` : path;
}

export function NodeLink({ name }) {
  return html`<a href=${nodePath(name)}>${name}</a>`;
}

/** A link to a pod, by "namespace/name" or by its parts. */
export function PodLink({ of, namespace, name }) {
  const [space, rest] = of ? of.split("/") : [namespace, name];
  return html`<a href=${podPath(space, rest)}><span class="quiet">${space}/</span>${rest}</a>`;
}

/** A bar that shows a share, beside the number that says it. */
export function Bar({ value }) {
  const width = `${Math.min(100, Math.max(0, value * 100))}%`;
  return html`<span class=${value > 1 ? "bar over" : "bar"} aria-hidden="true">
    <i style=${{ width }}></i>
  </span>`;
}
