// One pod: why it is where it is or why it waits, as `mooring explain -o json` has it.
import { html } from "./html.js";
import { Loaded } from "./loaded.js";
import { NodeLink } from "./links.js";
import { ScoreMatrix, VerdictMatrix } from "./matrices.js";
import { amounts, count, diagnosis, moment } from "./format.js";
import { get } from "./requests.js";

const OUTCOMES = {
  scheduled: ["good", "would be scheduled"],
  unschedulable: ["warn", "unschedulable"],
  gated: ["quiet", "gated"],
  error: ["bad", "failed"],
};

export class PodView extends Loaded {
  read({ parameters: [namespace, name] }) {
    return get("/api/explain", { namespace, name });
  }

  show(found, { parameters }) {
    const when = parameters[2] ? `at ${moment(parameters[2])}` : "now";
    const [tone, words] = OUTCOMES[found.outcome] || ["quiet", found.outcome];
    const refused = [found.preEnqueue, found.preFilter].filter(Boolean);
    return html`<section aria-labelledby="pod-title">
      <p class="kind">Pod in <strong>${found.namespace}</strong></p>
      <h1 id="pod-title">${found.name}</h1>
      <p class="lead">
        <span class=${`badge ${tone}`}>${words}</span>
        ${found.currentNode
          ? html`It is on <${NodeLink} name=${found.currentNode} />; asked ${when} as if it were not there.`
          : `It is pending; asked ${when}.`}
      </p>
      <p class="quiet">
        Profile ${found.profile}, by the rules of ${found.rules}.
        ${found.unread.length > 0 && ` Could not be read, and count as if there were none: ${found.unread.join(", ")}.`}
        <button onClick=${() => this.load()}>Ask again</button>
      </p>
      ${found.message && html`<p class="message">${found.message}</p>`}
      ${found.chosenNode && html`<p>Chosen: <${NodeLink} name=${found.chosenNode} />: ${found.why}.</p>`}
      ${found.postFilter && found.postFilter.nominatedNode && html`<p>
        Preemption would make room on <${NodeLink} name=${found.postFilter.nominatedNode} />${found.postFilter.victims.length > 0 && `, evicting ${found.postFilter.victims.join(", ")}`}.
      </p>`}
      ${refused.map((one) => html`<p class="message">${one.plugin}: ${one.reasons.join(", ")}</p>`)}
      ${found.errors.map((one) => html`<details class="problem">
        <summary>${one.plugin}: ${one.message}</summary><pre>${one.traceback}</pre>
      </details>`)}
      ${found.whyNot.length > 0 && html`<${Causes} causes=${found.whyNot} />`}
      ${found.nearest.length > 0 && !found.chosenNode && html`<${Nearest} misses=${found.nearest} />`}
      ${found.totals && html`<${ScoreMatrix} found=${found} />`}
      ${found.filterPlugins.length > 0 && html`<${VerdictMatrix} found=${found} />`}
    </section>`;
  }
}

function Causes({ causes }) {
  return html`<h2>Why not</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Why not">
      <table id="why-not">
        <thead>
          <tr>
            <th scope="col" class="number">Nodes</th>
            <th scope="col">Plugin</th>
            <th scope="col">Reason</th>
            <th scope="col">For example</th>
          </tr>
        </thead>
        <tbody>
          ${causes.map((cause) => html`<tr>
            <td class="number">${cause.nodes}</td>
            <th scope="row">${cause.plugin}</th>
            <td>${cause.reasons.join(", ")}</td>
            <td><${NodeLink} name=${cause.example.node} /> ${diagnosis(cause.example)}</td>
          </tr>`)}
        </tbody>
      </table>
    </div>`;
}

function Nearest({ misses }) {
  const asking = misses.filter((miss) => Object.keys(miss.missing).length);
  const others = misses.filter((miss) => !Object.keys(miss.missing).length);
  return html`<h2>Nearest</h2>
    <ul>
      ${asking.map((miss) => html`<li>
        ${count(miss.nodes, "node")} if it asked for ${amounts(miss.missing)} less, such as <${NodeLink} name=${miss.example} />
      </li>`)}
      ${others.map((miss) => html`<li>
        ${count(miss.nodes, "node")} if ${miss.plugin} passed ${miss.nodes === 1 ? "it" : "them"}, such as <${NodeLink} name=${miss.example} />
      </li>`)}
    </ul>`;
}
