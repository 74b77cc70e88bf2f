// The view of a pod: why it is on its node or why it waits, from the data of `mooring explain -o
// json`. The leader explains its own attempts; "now", the page applies its own rules.
import { html } from "./html.js";
import { Attempts } from "./attempts.js";
import { LeaderLine } from "./leader_line.js";
import { Loaded } from "./loaded.js";
import { NodeLink, podPath } from "./links.js";
import { ScoreMatrix, VerdictMatrix } from "./matrices.js";
import { amounts, count, diagnosis, moment, when } from "./format.js";
import { get } from "./requests.js";

// Milliseconds between two reads of the place in the leader's queue.
const LOOK_AGAIN = 2000;
const OUTCOMES = {
  scheduled: ["good", "scheduled"],
  unschedulable: ["warn", "unschedulable"],
  gated: ["quiet", "gated"],
  error: ["bad", "failed"],
};

export class PodView extends Loaded {
  state = { data: null, error: "", place: null };

  componentDidMount() {
    super.componentDidMount();
    this.looking = setInterval(() => this.look(), LOOK_AGAIN);
  }

  componentWillUnmount() {
    clearInterval(this.looking);
    super.componentWillUnmount();
  }

  read({ parameters: [[namespace, name, attempt = ""]] }) {
    return get("/api/explain", attempt ? { namespace, name, attempt } : { namespace, name });
  }

  /** Read where a pending pod is in the leader's queue. */
  async look() {
    const { data } = this.state;
    if (!data || !data.answeredBy || data.currentNode || !data.exists || this.isLooking) return;
    this.isLooking = true;
    try {
      const place = await get("/api/place", { namespace: data.namespace, name: data.name });
      if (!this.isGone) this.setState({ place });
    } catch (error) {
      if (!this.isGone) this.setState({ place: { place: "", problem: error.message } });
    } finally {
      this.isLooking = false;
    }
  }

  show(found, props) {
    const refused = [found.preEnqueue, found.preFilter].filter(Boolean);
    const { rules } = props.cluster.about;
    return html`<section aria-labelledby="pod-title">
      <p class="kind">Pod in <strong>${found.namespace}</strong></p>
      <h1 id="pod-title">${found.name}</h1>
      ${found.answeredBy ? this.told(found, rules) : this.asked(found, props)}
      ${found.message && html`<p class="message">${found.message}</p>`}
      ${found.chosenNode && found.why && html`<p>Chosen: <${NodeLink} name=${found.chosenNode} />: ${found.why}.</p>`}
      ${found.postFilter && found.postFilter.nominatedNode && html`<p>
        Preemption ${found.answeredBy ? "makes" : "would make"} room on <${NodeLink} name=${found.postFilter.nominatedNode} />${found.postFilter.victims.length > 0 && `, evicting ${found.postFilter.victims.join(", ")}`}.
      </p>`}
      ${refused.map((one) => html`<p class="message">${one.plugin}: ${one.reasons.join(", ")}</p>`)}
      ${found.errors.map((one) => html`<details class="problem">
        <summary>${one.plugin}: ${one.message}</summary><pre>${one.traceback}</pre>
      </details>`)}
      ${found.answeredBy && html`<${Attempts} found=${found} rules=${rules} />`}
      ${found.whyNot.length > 0 && html`<${Causes} causes=${found.whyNot} />`}
      ${found.nearest.length > 0 && !found.chosenNode && html`<${Nearest} misses=${found.nearest} />`}
      ${found.totals && html`<${ScoreMatrix} found=${found} />`}
      ${found.filterPlugins.length > 0 && html`<${VerdictMatrix} found=${found} />`}
    </section>`;
  }

  /** Return the leader's explanation of an attempt. */
  told(found, rules) {
    const [tone, words] = OUTCOMES[found.outcome] || ["quiet", found.outcome];
    const time = found.record && `Attempt ${found.record.attempt}, ${when(found.record.time)}`;
    return html`<p class="lead">
        <span class=${`badge ${tone}`}>${words}</span>
        ${found.askedNow ? `${time ? `${time}, of which the leader remembers the outcome; a` : "A"}sked now.` : `${time}.`}
        ${" "}The pod ${found.currentNode ? html`is on <${NodeLink} name=${found.currentNode} />` : found.state}.
      </p>
      <p class="quiet asked" id="whose-rules"><span>
        Told by ${found.answeredBy}, by its own rules, in profile ${found.profile}.
        ${found.extendersNotAsked.length > 0 && ` Extenders are not asked for an explanation: ${found.extendersNotAsked.join(", ")}.`}
        </span><button onClick=${() => this.load()}>Ask again</button>
      </p>
      ${found.ruleDifferences.length > 0 && html`<p class="note" id="rule-differences">
        The rules of the leader are shown. Those of ${rules} differ: ${found.ruleDifferences.join("; ")}.
      </p>`}
      ${!found.currentNode && found.exists && html`<${Place} live=${this.state.place} first=${found.queueText} />`}`;
  }

  /** Return the explanation by the rules of this page. */
  asked(found, { parameters, moment: past, cluster, leader }) {
    const [[namespace, name, attempt]] = parameters;
    const time = past ? `at ${moment(past)}` : "now";
    const [tone, words] = OUTCOMES[found.outcome] || ["quiet", found.outcome];
    return html`<p class="lead">
        <span class=${`badge ${tone}`}>${found.outcome === "scheduled" ? "would be scheduled" : words}</span>
        ${found.currentNode
          ? html`It is on <${NodeLink} name=${found.currentNode} />; asked ${time} as if it were not there.`
          : `It is pending; asked ${time}.`}
      </p>
      <p class="quiet asked" id="whose-rules"><span>
        Profile ${found.profile}, by the rules of ${found.rules}.
        ${found.unread.length > 0 && ` Could not be read, and count as if there were none: ${found.unread.join(", ")}.`}
        </span><button onClick=${() => this.load()}>Ask again</button>
      </p>
      ${attempt === "now" && (leader === "live" || leader === "limited")
        ? html`<p><a href=${podPath(namespace, name)}>The attempts of the leader</a></p>`
        : leader === "live" || leader === "limited"
          ? found.noLeader && html`<p class="note">The leader says nothing of this pod: ${found.noLeader}.</p>`
          : html`<${LeaderLine} cluster=${cluster} />`}`;
  }
}

function Place({ live, first }) {
  const text = (live && live.place) || (live && !live.problem ? "" : first);
  return html`<p id="place" role="status">
    ${text && html`<strong>In the leader's queue:</strong> ${text}.`}
    ${live && live.problem && html` <span class="quiet">This is not kept up to date: ${live.problem}.</span>`}
  </p>`;
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
            <td class="wide"><${NodeLink} name=${cause.example.node} /> ${diagnosis(cause.example)}</td>
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
