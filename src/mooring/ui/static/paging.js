// The buttons below a list that is shown in pages.
import { html } from "./html.js";
import { count } from "./format.js";

export function Paging({ offset, size, total, what, onMove }) {
  if (total <= size) return html`<p class="paging quiet">${count(total, what)}</p>`;
  const last = Math.min(offset + size, total);
  return html`<nav class="paging" aria-label=${`Pages of ${what}s`}>
    <button disabled=${offset === 0} onClick=${() => onMove(Math.max(0, offset - size))}>
      Previous
    </button>
    <span>${offset + 1}–${last} of ${count(total, what)}</span>
    <button disabled=${last >= total} onClick=${() => onMove(offset + size)}>Next</button>
  </nav>`;
}
