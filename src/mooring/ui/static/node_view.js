// One node: what it offers, what is requested, and its pods.
import { html } from "./html.js";
import { Loaded } from "./loaded.js";
import { Bar, PodLink } from "./links.js";
import { Paging } from "./paging.js";
import { amount, isLacking, share, shareText, when } from "./format.js";
import { get } from "./requests.js";

const PAGE = 50;

export class NodeView extends Loaded {
  state = { data: null, error: "", offset: 0 };

  read({ parameters: [name] }) {
    return get("/api/node", { name });
  }

  show(node) {
    const resources = Object.keys(node.allocatable).sort();
    const isPast = Boolean(this.props.isPast);
    const question = (action) => `#/what-if/${action}/${encodeURIComponent(node.name)}`;
    const pods = node.pods.slice(this.state.offset, this.state.offset + PAGE);
    return html`<section aria-labelledby="node-title">
      <p class="kind">Node</p>
      <h1 id="node-title">${node.name}</h1>
      ${node.notReady && html`<p id="not-ready"><span class="badge bad">NotReady</span>
        ${[node.notReady.since && `since ${when(Date.parse(node.notReady.since) / 1000)}`, node.notReady.reason].filter(Boolean).join("; ")}</p>`}
      ${node.cordoned && html`<p><span class="badge warn">cordoned</span></p>`}
      ${!isPast && html`<p class="actions">
        What if it were
        <a class="button" href=${question("cordon")}>cordoned</a>
        <a class="button" href=${question("drain")}>drained</a>
        <a class="button" href=${question("add")}>there more than once</a>
      </p>`}
      <h2>Resources</h2>
      <table class="narrow">
        <thead>
          <tr>
            <th scope="col">Resource</th>
            <th scope="col" class="number">Requested</th>
            <th scope="col" class="number">Allocatable</th>
            <th scope="col" class="number">Share</th>
          </tr>
        </thead>
        <tbody>
          ${resources.map((name) => {
            const used = node.requested[name] || 0;
            const part = share(used, node.allocatable[name]);
            return html`<tr key=${name}>
              <th scope="row">${name}</th>
              <td class="number">${amount(name, used)}</td>
              <td class="number">${amount(name, node.allocatable[name])}</td>
              <td class="number">${!isLacking(used, node.allocatable[name]) && html`<${Bar} value=${part} />`}${shareText(used, node.allocatable[name])}</td>
            </tr>`;
          })}
        </tbody>
      </table>
      ${node.taints.length > 0 && html`<h2>Taints</h2>
        <ul class="words">${node.taints.map((taint) => html`<li><code>${taint}</code></li>`)}</ul>`}
      <h2>Labels</h2>
      <ul class="words">
        ${Object.entries(node.labels).map(([key, value]) => html`<li><code>${key}=${value}</code></li>`)}
      </ul>
      <h2>Pods</h2>
      ${node.pods.length === 0 ? html`<p class="empty">No pod is on this node.</p>` : this.pods(node, pods)}
    </section>`;
  }

  pods(node, pods) {
    return html`<table class="narrow">
        <thead>
          <tr>
            <th scope="col">Pod</th>
            <th scope="col" class="number">Priority</th>
            <th scope="col" class="number">cpu</th>
            <th scope="col" class="number">memory</th>
          </tr>
        </thead>
        <tbody>
          ${pods.map(
            (pod) => html`<tr key=${`${pod.namespace}/${pod.name}`}>
              <th scope="row"><${PodLink} ...${pod} /></th>
              <td class="number">${pod.priority}</td>
              <td class="number">${amount("cpu", pod.requests.cpu || 0)}</td>
              <td class="number">${amount("memory", pod.requests.memory || 0)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
      <${Paging} offset=${this.state.offset} size=${PAGE} total=${node.pods.length} what="pod" onMove=${(offset) => this.setState({ offset })} />`;
  }
}
