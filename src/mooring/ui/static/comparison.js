// How a decision of a shadow compares with that of the cluster's own scheduler.
import { html } from "./html.js";
import { count } from "./format.js";

const TONES = { agreed: "good", undecidable: "quiet", error: "bad" };

/** Return what a verdict of `mooring shadow` means for this pod; empty if nothing is to be added. */
function meaning({ verdict, lost }) {
  if (verdict === "other node") return `the shadow's node has ${count(lost, "point")} more`;
  if (verdict === "refused by us") return "the shadow refuses the cluster's node";
  if (verdict === "pending here") return "the shadow finds no node";
  if (verdict === "pending there") return "the shadow finds a node";
  if (verdict === "undecidable") return "a node had just changed, so the cluster's scheduler may not have seen it";
  if (verdict === "error") return "the shadow failed";
  return "";
}

export function Comparison({ compared }) {
  const reason = [compared.plugin, compared.reason].filter(Boolean).join(": ");
  const text = [meaning(compared), reason].filter(Boolean).join("; ");
  return html`<span class=${`badge ${TONES[compared.verdict] || "warn"}`}>${compared.verdict}</span>
    ${text && html`<div>${text}</div>`}`;
}

/** Says whose decisions are shown, if a shadow wrote the journal. */
export function ShadowNote({ about: { past, rules } }) {
  if (!past.shadow) return null;
  return html`<p class="note" id="shadow">
    This is the journal of a shadow, which only reads.
    Pods are where the cluster's own scheduler has put them; explanations follow the rules of ${rules}.
  </p>`;
}
