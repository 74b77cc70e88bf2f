// What if: the consequences of a change, computed on a copy of the cluster's objects.
import { Component, html } from "./html.js";
import { NodeLink, PodLink } from "./links.js";
import { Paging } from "./paging.js";
import { count } from "./format.js";
import { post } from "./requests.js";

const PAGE = 50;
const ACTIONS = [
  ["cordon", "Cordon nodes"],
  ["drain", "Drain nodes"],
  ["add", "Add nodes like one"],
  ["weights", "Change weights"],
];

export class WhatIfView extends Component {
  constructor(props) {
    super(props);
    const [action, node] = props.parameters;
    const isKnown = ACTIONS.some(([name]) => name === action);
    this.state = {
      action: isKnown ? action : "cordon",
      nodes: node || "",
      count: 1,
      profile: props.cluster.about.profiles[0].name,
      weights: {},
      answer: null,
      error: "",
      isBusy: false,
    };
  }

  componentWillUnmount() {
    this.isGone = true;
  }

  question() {
    const { action, nodes, count: number, profile, weights } = this.state;
    const names = nodes.split(/[\s,]+/).filter(Boolean);
    if (action === "weights") return { action, profile, weights };
    return { action, nodes: names, count: action === "add" ? Number(number) : 1 };
  }

  ask = async (event) => {
    event.preventDefault();
    this.setState({ isBusy: true, error: "", answer: null });
    let found;
    try {
      found = { answer: await post("/api/what-if", this.question()) };
    } catch (error) {
      found = { error: error.message };
    }
    if (!this.isGone) this.setState({ ...found, isBusy: false });
  };

  render({ cluster }, { action, answer, error, isBusy }) {
    return html`<section aria-labelledby="what-if-title">
      <h1 id="what-if-title">What if</h1>
      <p class="quiet">Computed here, on a copy of the cluster's objects: nothing is changed.</p>
      <form class="controls" onSubmit=${this.ask}>
        <fieldset class="switch">
          <legend>Change</legend>
          ${ACTIONS.map(([name, text]) => html`<label key=${name}>
            <input
              type="radio"
              name="action"
              value=${name}
              checked=${name === action}
              onChange=${() => this.setState({ action: name, answer: null, error: "" })}
            />
            <span>${text}</span>
          </label>`)}
        </fieldset>
        ${action === "weights" ? this.weights(cluster.about.profiles) : this.nodes()}
        <button class="main" disabled=${isBusy}>${isBusy ? "Computing…" : "Show the consequences"}</button>
      </form>
      <div role="status">
        ${isBusy && html`<p class="loading">Computing…</p>`}
        ${answer && html`<p class="lead" id="consequences">
          ${count(answer.moved.total, "pod")} would move, ${answer.unplaced.total.toLocaleString("en")} would no longer fit,
          ${" "}${answer.placed.total.toLocaleString("en")} pending would get a node.
        </p>`}
      </div>
      ${error && html`<p class="problem" role="alert">${error}</p>`}
      ${answer && html`<div id="whose-rules">
        <p class="quiet">By the rules of ${answer.rules.text}.</p>
        ${answer.rules.notes.map((note) => html`<p class="note warn" role="status">${note}</p>`)}
      </div>
      <${Consequences} answer=${answer} />`}
    </section>`;
  }

  nodes() {
    const { action, nodes, count: number } = this.state;
    const isAdding = action === "add";
    return html`<label class="grow">
        ${isAdding ? "Node to copy" : "Nodes, separated by commas"}
        <input
          name="nodes"
          required
          autocomplete="off"
          value=${nodes}
          onInput=${(event) => this.setState({ nodes: event.target.value })}
        />
      </label>
      ${isAdding && html`<label>
        How many
        <input
          name="count"
          type="number"
          min="1"
          max="1000"
          required
          value=${number}
          onInput=${(event) => this.setState({ count: event.target.value })}
        />
      </label>`}`;
  }

  weights(profiles) {
    const { profile, weights } = this.state;
    const chosen = profiles.find(({ name }) => name === profile);
    const set = (name, before) => (event) => {
      const { [name]: _, ...others } = this.state.weights;
      const value = Number(event.target.value);
      this.setState({ weights: value === before ? others : { ...others, [name]: value } });
    };
    return html`<label>
        Profile
        <select value=${profile} onChange=${(event) => this.setState({ profile: event.target.value, weights: {} })}>
          ${profiles.map(({ name }) => html`<option value=${name}>${name}</option>`)}
        </select>
      </label>
      <fieldset class="weights">
        <legend>Weights; 0 takes a plugin out</legend>
        ${Object.entries(chosen.weights).map(([name, weight]) => html`<label key=${name}>
          ${name}
          <input
            type="number"
            min="0"
            max="1000000"
            required
            value=${weights[name] ?? weight}
            onInput=${set(name, weight)}
          />
        </label>`)}
      </fieldset>`;
  }
}

function Consequences({ answer }) {
  const why = ({ plugin, reason, change }) => [plugin, reason || (change ? `${change > 0 ? "+" : ""}${change}` : "")].filter(Boolean).join(": ");
  return html`
    <${Pods} id="unplaced" title="No longer fit" list=${answer.unplaced} heads=${["Pod", "From", "Why"]}
      cells=${(one) => [html`<${PodLink} of=${one.pod} />`, html`<${NodeLink} name=${one.from_node} />`, one.message]} />
    <${Pods} id="moved" title="Move" list=${answer.moved} heads=${["Pod", "From", "To", "Why"]}
      cells=${(one) => [html`<${PodLink} of=${one.pod} />`, html`<${NodeLink} name=${one.from_node} />`, html`<${NodeLink} name=${one.to_node} />`, why(one)]} />
    <${Pods} id="placed" title="Get a node" list=${answer.placed} heads=${["Pod", "Node"]}
      cells=${(one) => [html`<${PodLink} of=${one.pod} />`, html`<${NodeLink} name=${one.node} />`]} />
    <${Pods} id="unserved" title="Nothing can be said about" list=${answer.unserved} heads=${["Pod", "From", "Why"]}
      cells=${(one) => [html`<${PodLink} of=${one.pod} />`, html`<${NodeLink} name=${one.from_node} />`, one.message]} />
  `;
}

class Pods extends Component {
  state = { offset: 0 };

  render({ id, title, list, heads, cells }, { offset }) {
    if (!list.total) return null;
    const page = list.pods.slice(offset, offset + PAGE);
    const left = list.total - list.pods.length;
    return html`<h2>${title}</h2>
      <div class="scroll" tabindex="0" role="region" aria-label=${title}>
        <table id=${id}>
          <thead>
            <tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr>
          </thead>
          <tbody>
            ${page.map((one) => html`<tr key=${one.pod}>${cells(one).map((cell) => html`<td>${cell}</td>`)}</tr>`)}
          </tbody>
        </table>
      </div>
      <${Paging} offset=${offset} size=${PAGE} total=${list.pods.length} what="pod" onMove=${(to) => this.setState({ offset: to })} />
      ${left > 0 && html`<p class="quiet">and ${left.toLocaleString("en")} more</p>`}`;
  }
}
