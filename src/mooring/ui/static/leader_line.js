// The line about the leader: whose decisions are shown, or what is missing and what to do.
import { html } from "./html.js";

export function LeaderLine({ cluster }) {
  const leader = cluster.summary && cluster.summary.leader;
  if (!leader) return null;
  const isProblem = leader.state === "lost" || leader.state === "limited";
  return html`<p id="leader" class=${isProblem ? "note warn" : "note"} role="status">${leader.text}</p>`;
}
