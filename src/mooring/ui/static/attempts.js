// The attempts of a pod that the leader remembers, each with a link to its explanation.
import { html } from "./html.js";
import { NodeLink, podPath } from "./links.js";
import { when } from "./format.js";

const TONES = { scheduled: "good", unschedulable: "warn", error: "bad" };

/** Return the records of an explanation, the newest first. */
function recordsOf({ record, earlierAttempts }) {
  const all = record ? [...earlierAttempts, record] : [...earlierAttempts];
  return all.sort((one, other) => other.time - one.time);
}

/** Return whether a record is the newest with its number: another pod may have had the name. */
function isNewest(record, records) {
  return records.find((one) => one.attempt === record.attempt) === record;
}

export function Attempts({ found, rules }) {
  const records = recordsOf(found);
  const path = (attempt) => podPath(found.namespace, found.name, attempt);
  const isShown = (one) => found.record && one.sequence === found.record.sequence;
  return html`<h2>Attempts</h2>
    ${!records.length && html`<p class="quiet">The leader remembers no attempt of this pod.</p>`}
    ${records.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Attempts">
      <table id="attempts">
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Time</th>
            <th scope="col">Outcome</th>
            <th scope="col">Node</th>
            <th scope="col">Message</th>
          </tr>
        </thead>
        <tbody>
          ${records.map((one) => html`<tr key=${one.sequence} class=${isShown(one) ? "shown" : ""}>
            <th scope="row" class="nowrap">
              ${isNewest(one, records)
                ? html`<a href=${path(one.attempt)} aria-current=${isShown(one) ? "true" : undefined}>${one.attempt}</a>`
                : one.attempt}
              ${isShown(one) && html` <span class="badge quiet">below</span>`}
            </th>
            <td class="nowrap">${when(one.time)}</td>
            <td><span class=${`badge ${TONES[one.outcome]}`}>${one.outcome}</span></td>
            <td class="nowrap">${one.node && html`<${NodeLink} name=${one.node} />`}</td>
            <td class="wide">${one.message || one.bindingError || ""}</td>
          </tr>`)}
        </tbody>
      </table>
    </div>`}
    <p><a href=${path("now")}>Ask now, by the rules of ${rules}</a></p>`;
}
