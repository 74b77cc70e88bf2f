// What each plugin says of each node: scores of those that pass, refusals of the others.
import { Component, html } from "./html.js";
import { NodeLink } from "./links.js";
import { Paging } from "./paging.js";

const PAGE = 20;

class Matrix extends Component {
  state = { offset: 0 };

  render(props, { offset }) {
    const rows = this.rows(props.found);
    const start = offset < rows.length ? offset : 0;
    const page = rows.slice(start, start + PAGE);
    const move = (to) => this.setState({ offset: to });
    return html`<h2>${this.title}</h2>
      <p class="quiet">${(props.found.recorded && this.recorded) || this.about}</p>
      <div class="scroll" tabindex="0" role="region" aria-label=${this.title}>
        ${this.table(props.found, page)}
      </div>
      <${Paging} offset=${start} size=${PAGE} total=${rows.length} what="node" onMove=${move} />`;
  }
}

export class ScoreMatrix extends Matrix {
  title = "Scores";
  about = "Raw → normalised, or one number where they are equal. The total is weighted.";

  /** Return the feasible nodes, the best first; the chosen node comes first among equals. */
  rows({ nodes, totals, chosenNode }) {
    const rows = nodes.map((_, row) => row).filter((row) => totals[row] !== null);
    const isOther = (row) => Number(nodes[row] !== chosenNode);
    const compare = (one, other) =>
      totals[other] - totals[one] || isOther(one) - isOther(other) || nodes[one].localeCompare(nodes[other]);
    return rows.sort(compare);
  }

  table({ nodes, totals, scorePlugins, chosenNode, currentNode }, page) {
    return html`<table id="scores">
      <thead>
        <tr>
          <th scope="col">Node</th>
          <th scope="col" class="number">Total</th>
          ${scorePlugins.map(({ name, weight }) => html`<th scope="col" class="number">
            ${name}${weight !== 1 && html` <span class="quiet">× ${weight}</span>`}
          </th>`)}
        </tr>
      </thead>
      <tbody>
        ${page.map((row) => html`<tr key=${nodes[row]} class=${nodes[row] === chosenNode ? "chosen" : ""}>
          <th scope="row">
            <${NodeLink} name=${nodes[row]} />
            ${nodes[row] === chosenNode && html` <span class="badge good">chosen</span>`}
            ${nodes[row] === currentNode && html` <span class="badge quiet">its node</span>`}
          </th>
          <td class="number"><strong>${totals[row]}</strong></td>
          ${scorePlugins.map(({ raw, normalized }) => html`<td class="number">
            ${raw[row] === normalized[row] ? raw[row] : `${raw[row]} → ${normalized[row]}`}
          </td>`)}
        </tr>`)}
      </tbody>
    </table>`;
  }
}

export class VerdictMatrix extends Matrix {
  title = "Filters";
  about = "Every Filter plugin alone about every node; a node passes if no plugin refuses it.";
  recorded = "As recorded in the attempt: the first plugin that refused each node; later ones were not asked.";

  /** Return all nodes, those that the fewest plugins refuse first. */
  rows({ nodes, filterPlugins }) {
    const refusals = nodes.map((_, row) => filterPlugins.filter((one) => one.verdicts[row] !== null).length);
    const rows = nodes.map((_, row) => row);
    return rows.sort((one, other) => refusals[one] - refusals[other] || nodes[one].localeCompare(nodes[other]));
  }

  table({ nodes, asked, statuses, filterPlugins, recorded }, page) {
    const refusing = filterPlugins.filter((one) => one.verdicts.some((code) => code !== null));
    if (!refusing.length) return html`<p>No plugin refuses a node.</p>`;
    const isRefused = (row) => refusing.some(({ verdicts }) => verdicts[row] !== null);
    return html`<table id="filters">
      <thead>
        <tr>
          <th scope="col">Node</th>
          ${refusing.map(({ name }) => html`<th scope="col">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${page.map((row) => html`<tr key=${nodes[row]}>
          <th scope="row"><${NodeLink} name=${nodes[row]} /></th>
          ${refusing.map(({ verdicts }) => {
            if (!asked[row]) return html`<td class="quiet">not asked</td>`;
            if (verdicts[row] === null && recorded && isRefused(row)) return html`<td class="quiet">not recorded</td>`;
            if (verdicts[row] === null) return html`<td class="passes">passes</td>`;
            return html`<td class="refuses">${statuses[verdicts[row]].reasons.join(", ")}</td>`;
          })}
        </tr>`)}
      </tbody>
    </table>`;
  }
}
