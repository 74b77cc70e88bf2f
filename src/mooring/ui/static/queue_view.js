// The pods that have no node.
import { html } from "./html.js";
import { LeaderLine } from "./leader_line.js";
import { Loaded } from "./loaded.js";
import { PodLink } from "./links.js";
import { Paging } from "./paging.js";
import { age } from "./format.js";
import { get } from "./requests.js";

const PAGE = 100;
// Milliseconds between two reads of the leader's queue, which changes even without decisions.
const LOOK_AGAIN = 3000;
const TONES = { unschedulable: "warn", gated: "quiet", waiting: "quiet", nominated: "good" };

/** Return a place without the events on which the pod is tried again; the pod's view lists them. */
function short(place) {
  return place.split(";")[0];
}

export class QueueView extends Loaded {
  state = { data: null, error: "", offset: 0, q: "" };

  read() {
    return get("/api/pending", { q: this.state.q, offset: this.state.offset });
  }

  componentDidMount() {
    super.componentDidMount();
    this.looking = setInterval(() => this.props.leader && this.load(), LOOK_AGAIN);
  }

  componentWillUnmount() {
    clearInterval(this.looking);
    super.componentWillUnmount();
  }

  change(state) {
    this.setState(state, () => this.load());
  }

  render(props, state) {
    return html`<section aria-labelledby="queue-title">
      <h1 id="queue-title">Pending pods</h1>
      <${LeaderLine} cluster=${props.cluster} />
      <form class="controls" onSubmit=${(event) => event.preventDefault()}>
        <label class="grow">
          Filter
          <input
            type="search"
            placeholder="part of namespace/name"
            value=${state.q}
            onInput=${(event) => this.change({ q: event.target.value, offset: 0 })}
          />
        </label>
      </form>
      ${super.render(props, state)}
    </section>`;
  }

  show({ pods, total, offset, problem }, { leader, moment }) {
    if (!total) return html`<p class="empty">No pod is waiting for a node.</p>`;
    const hasPlaces = pods.some((pod) => pod.place);
    return html`${leader && problem && html`<p class="note" role="status">Places in the queue are not known: ${problem}.</p>`}
      <div class="scroll" tabindex="0" role="region" aria-label="Pending pods">
        <table id="pending">
          <thead>
            <tr>
              <th scope="col">Pod</th>
              <th scope="col">State</th>
              ${hasPlaces && html`<th scope="col">In the leader's queue</th>`}
              <th scope="col" class="number">Priority</th>
              <th scope="col" class="number">Age</th>
              <th scope="col">Scheduler</th>
              <th scope="col">What its scheduler says</th>
            </tr>
          </thead>
          <tbody>
            ${pods.map(
              (pod) => html`<tr key=${`${pod.namespace}/${pod.name}`}>
                <th scope="row"><${PodLink} ...${pod} /></th>
                <td><span class=${`badge ${TONES[pod.state]}`}>${pod.state}</span></td>
                ${hasPlaces && html`<td>${short(pod.place)}</td>`}
                <td class="number">${pod.priority}</td>
                <td class="number">${age(pod.created, moment)}</td>
                <td>${pod.scheduler}</td>
                <td class="wide">${pod.message}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <${Paging} offset=${offset} size=${PAGE} total=${total} what="pod" onMove=${(to) => this.change({ offset: to })} />`;
  }
}
