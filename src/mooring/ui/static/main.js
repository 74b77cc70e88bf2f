// The page: a header, the places to go to, and the view of the present place.
import { Component, html, render } from "./html.js";
import { cluster } from "./cluster.js";
import { ShadowNote } from "./comparison.js";
import { DecisionsView } from "./decisions_view.js";
import { percent, rough, share, when } from "./format.js";
import { Bar } from "./links.js";
import { NodeView } from "./node_view.js";
import { NodesView } from "./nodes_view.js";
import { PodView } from "./pod_view.js";
import { QueueView } from "./queue_view.js";
import { SearchBox } from "./search_box.js";
import { TimeSlider } from "./time_slider.js";
import { WhatIfView } from "./what_if_view.js";

// The views of a cluster; questions about changes need the present.
const PLACES = [
  ["nodes", "Nodes"],
  ["queue", "Queue"],
  ["decisions", "Decisions"],
  ["what-if", "What if"],
];

/** Return the place that the address names, and its parameters. */
function route() {
  const [place, ...parameters] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  return { place: place || "nodes", parameters };
}

/** Return what the live data say of one node, so that its view is read again when this changes. */
function amountsOf(table, name) {
  const row = table.names.indexOf(name);
  return row < 0 ? [] : table.resources.map((one) => one.requested[row]);
}

/** Return the moment of the past that is shown; 0 if it is the present. */
function moment() {
  return cluster.about.past ? cluster.about.past.time : 0;
}

/** Return the state of the connection to the leader; empty if no leader is looked for. */
function leaderState() {
  return cluster.summary && cluster.summary.leader ? cluster.summary.leader.state : "";
}

/** Return the number of the newest decision about a pod; its view is read again if it changes. */
function newestOf([namespace, name]) {
  const found = cluster.decisions.filter((one) => one.namespace === namespace && one.name === name);
  return Math.max(0, ...found.map((one) => one.sequence));
}

class Page extends Component {
  state = route();

  componentDidMount() {
    cluster.subscribe(() => this.setState({}));
    window.addEventListener("hashchange", () => this.enter());
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && !event.target.closest("input, select, textarea")) {
        event.preventDefault();
        document.getElementById("search").focus();
      }
    });
    cluster.start();
  }

  enter() {
    this.setState(route(), () => {
      // A reader of the screen hears where it is, and the next key starts there.
      document.getElementById("main").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    });
  }

  render(_, { place, parameters }) {
    const { about, table, failure } = cluster;
    return html`
      <a class="skip" href="#main" onClick=${(event) => {
        event.preventDefault();
        document.getElementById("main").focus();
      }}>Skip to the content</a>
      <header>
        <a class="home" href="#/nodes"><img src="icon.svg" alt="" width="28" height="28" />Mooring</a>
        <span class="server quiet">${about && about.server}</span>
        <${Connection} />
        <${SearchBox} />
      </header>
      <nav class="places" aria-label="Views">
        ${PLACES.filter(([path]) => path !== "what-if" || (about && !about.past)).map(([path, name]) => html`<a href=${`#/${path}`} aria-current=${path === place ? "page" : undefined}>
          ${name}${path === "queue" && cluster.summary && cluster.summary.pending > 0 && html` <span class="badge warn">${cluster.summary.pending.toLocaleString("en")}</span>`}
        </a>`)}
      </nav>
      <main id="main" tabindex="-1">
        ${failure && html`<p class="problem" role="alert">${failure}.${oldData()} Trying again…</p>`}
        ${cluster.refusal && html`<p class="note warn" role="status">The end of the journal is shown: ${cluster.refusal}.</p>`}
        ${cluster.summary && cluster.summary.failure && html`<p class="problem" role="alert">
          The cluster cannot be read: ${cluster.summary.failure}.${oldData()}
        </p>`}
        ${about && about.past && html`<${TimeSlider} past=${about.past} /><${ShadowNote} about=${about} />`}
        ${table && html`<${Summary} table=${table} />`}
        ${table ? this.view(place, parameters) : html`<p class="loading" role="status">Reading the cluster…</p>`}
      </main>
      <footer class="quiet">
        ${about && html`By the rules of ${about.rules}. Only read, never written.`}
        ${cluster.summary && cluster.summary.unread.length > 0 && html`<br />Could not be read, and count as if there were none: ${cluster.summary.unread.join(", ")}.`}
      </footer>
    `;
  }

  view(place, parameters) {
    if (place === "queue") return html`<${QueueView} cluster=${cluster} moment=${moment()} leader=${leaderState() === "live"} parameters=${[moment(), leaderState(), cluster.summary && cluster.summary.pending, cluster.lastDecision]} />`;
    if (place === "decisions") return html`<${DecisionsView} cluster=${cluster} />`;
    if (place === "what-if") return html`<${WhatIfView} cluster=${cluster} key=${parameters.join("/")} parameters=${parameters} />`;
    if (place === "node") return html`<${NodeView} isPast=${Boolean(cluster.about.past)} key=${parameters[0]} parameters=${[...parameters, moment(), ...amountsOf(cluster.table, parameters[0])]} />`;
    if (place === "pod") return html`<${PodView} cluster=${cluster} key=${parameters.join("/")} moment=${moment()} leader=${leaderState()} parameters=${[parameters, moment(), leaderState(), parameters[2] ? 0 : newestOf(parameters)]} />`;
    return html`<${NodesView} cluster=${cluster} />`;
  }
}

/** Return a sentence about the age of the data; empty if there are none. */
function oldData() {
  return cluster.table ? ` What is shown is from ${when(cluster.oldSince())}.` : "";
}

function Connection() {
  const { about, isLive } = cluster;
  const since = cluster.oldSince();
  const state = since ? "lost" : !isLive ? "connecting" : about.past ? "recorded" : "live";
  const text = since && cluster.table ? `lost since ${when(since)}` : state;
  return html`<span class=${`connection ${state}`} role="status">${text}</span>`;
}

function Summary({ table }) {
  const { summary } = cluster;
  const shares = ["cpu", "memory"].flatMap((name) => table.resources.filter((one) => one.name === name));
  const add = (values) => values.reduce((sum, value) => sum + value, 0);
  return html`<dl class="summary">
    <div><dt>Nodes</dt><dd>${table.names.length.toLocaleString("en")}</dd></div>
    <div><dt>Pods placed</dt><dd>${summary ? summary.pods.toLocaleString("en") : "–"}</dd></div>
    <div><dt>Pods pending</dt><dd>${summary ? summary.pending.toLocaleString("en") : "–"}</dd></div>
    ${shares.map(({ name, requested, allocatable }) => {
      const used = add(requested);
      const all = add(allocatable);
      return html`<div>
        <dt>${name} requested</dt>
        <dd>${percent(share(used, all))}<small class="quiet"> ${rough(name, used)} of ${rough(name, all)}</small></dd>
        <dd><${Bar} value=${share(used, all)} /></dd>
      </div>`;
    })}
  </dl>`;
}

const root = document.getElementById("page");
root.textContent = "";
render(html`<${Page} />`, root);
