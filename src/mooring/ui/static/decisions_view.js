// The stream of decisions, the newest first.
import { Component, html } from "./html.js";
import { NodeLink, PodLink, podPath } from "./links.js";
import { Comparison } from "./comparison.js";
import { LeaderLine } from "./leader_line.js";
import { Paging } from "./paging.js";
import { count, when } from "./format.js";

// In a busy cluster every row is new several times a second.
const PAGE = 30;
const TONES = { bound: "good", scheduled: "good", unschedulable: "warn", gated: "quiet", error: "bad" };

/** Return the names in a decision, which the filter looks through. */
function namesOf({ namespace, name, node, compared }) {
  return `${namespace}/${name} ${node} ${compared ? compared.node : ""}`;
}

export class DecisionsView extends Component {
  state = { held: null, filter: "", offset: 0 };

  render({ cluster }, { held, filter, offset }) {
    const all = held || cluster.decisions;
    const wanted = all.filter((one) => namesOf(one).includes(filter));
    const start = offset < wanted.length ? offset : 0;
    const shown = wanted.slice(Math.max(0, wanted.length - start - PAGE), wanted.length - start).reverse();
    const isShadow = all.some((one) => one.compared);
    const toggle = () => this.setState({ held: held ? null : cluster.decisions });
    return html`<section aria-labelledby="decisions-title">
      <h1 id="decisions-title">Decisions</h1>
      <${LeaderLine} cluster=${cluster} />
      <form class="controls" onSubmit=${(event) => event.preventDefault()}>
        <label class="grow">
          Filter
          <input
            type="search"
            placeholder="part of a pod's or a node's name"
            value=${filter}
            onInput=${(event) => this.setState({ filter: event.target.value, offset: 0 })}
          />
        </label>
        <button type="button" aria-pressed=${String(Boolean(held))} onClick=${toggle}>
          ${held ? "Continue" : "Pause"}
        </button>
      </form>
      ${!shown.length && html`<p class="empty">${cluster.about.past ? "The journal holds no decision of this time." : "No decision was seen since mooring ui started."}</p>`}
      ${shown.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Decisions">
        <table id="decisions">
          <caption class="hidden">The newest of ${count(wanted.length, "decision")}</caption>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col">Outcome</th>
              <th scope="col">Pod</th>
              <th scope="col">${isShadow ? "Node in the cluster" : "Node"}</th>
              ${isShadow && html`<th scope="col">Node of the shadow</th>`}
              <th scope="col">Told by</th>
              <th scope="col">${isShadow ? "How they compare" : "What its scheduler says"}</th>
            </tr>
          </thead>
          <tbody>
            ${shown.map(
              (one) => html`<tr key=${one.sequence}>
                <td class="quiet nowrap">${when(one.time)}</td>
                <td><span class=${`badge ${TONES[one.outcome]}`}>${one.outcome}</span></td>
                <th scope="row"><${PodLink} namespace=${one.namespace} name=${one.name} /></th>
                <td class="nowrap">${one.node && html`<${NodeLink} name=${one.node} />`}</td>
                ${isShadow && html`<td class="nowrap">${one.compared && one.compared.node && html`<${NodeLink} name=${one.compared.node} />`}</td>`}
                <td>${one.attempt > 0
                  ? html`<a class="nowrap" href=${podPath(one.namespace, one.name, one.attempt)}>leader, attempt ${one.attempt}</a>`
                  : html`<span class="quiet">${one.compared ? "shadow" : cluster.about.past ? "journal" : "API objects"}</span>`}</td>
                <td class="wide">${one.compared ? html`<${Comparison} compared=${one.compared} />` : one.message}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <${Paging} offset=${start} size=${PAGE} total=${wanted.length} what="decision" onMove=${(to) => this.setState({ offset: to })} />`}
    </section>`;
  }
}
