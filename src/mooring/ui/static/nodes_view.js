// The nodes: as a heat map, or as a table that says the same.
import { Component, html } from "./html.js";
import { HeatMap, Legend } from "./heat_map.js";
import { Bar, NodeLink } from "./links.js";
import { Paging } from "./paging.js";
import { column, filtered, grouped, statesOf } from "./selection.js";
import { amount, count, isLacking, share, shareText } from "./format.js";

const PAGE = 50;

export class NodesView extends Component {
  state = { resource: "", label: "", filter: "", isTable: false };

  render({ cluster }, { resource, label, filter, isTable }) {
    const { table } = cluster;
    if (!table.resources.length) {
      return html`<section><h1>Nodes</h1><p class="empty">The cluster has no nodes.</p></section>`;
    }
    const shown = column(table, resource);
    const rows = filtered(table, filter);
    const groups = grouped(table, rows, label);
    return html`<section aria-labelledby="nodes-title">
      <h1 id="nodes-title">Nodes</h1>
      <form class="controls" onSubmit=${(event) => event.preventDefault()}>
        <label>
          Resource
          <select value=${shown.name} onChange=${(event) => this.setState({ resource: event.target.value })}>
            ${table.resources.map(({ name }) => html`<option value=${name}>${name}</option>`)}
          </select>
        </label>
        <label>
          Group by
          <select value=${label} onChange=${(event) => this.setState({ label: event.target.value })}>
            <option value="">no label</option>
            ${Object.keys(table.labels).map((key) => html`<option value=${key}>${key}</option>`)}
          </select>
        </label>
        <label class="grow">
          Filter
          <input
            type="search"
            placeholder="part of a name, or label=value"
            value=${filter}
            onInput=${(event) => this.setState({ filter: event.target.value })}
          />
        </label>
        <fieldset class="switch">
          <legend>Show as</legend>
          ${this.choice("map", "Map", !isTable)} ${this.choice("table", "Table", isTable)}
        </fieldset>
      </form>
      ${!rows.length && html`<p class="empty">No node matches the filter.</p>`}
      ${rows.length > 0 && !isTable && html`<${Legend} /><${HeatMap} table=${table} column=${shown} groups=${groups} />`}
      ${rows.length > 0 && isTable && html`<${NodeRows} table=${table} column=${shown} groups=${groups} label=${label} />`}
    </section>`;
  }

  choice(value, text, isChosen) {
    const choose = () => this.setState({ isTable: value === "table" });
    return html`<label>
      <input type="radio" name="shown-as" value=${value} checked=${isChosen} onChange=${choose} />
      <span>${text}</span>
    </label>`;
  }
}

class NodeRows extends Component {
  state = { offset: 0, byShare: false };

  render({ table, column: shown, groups, label }, { offset, byShare }) {
    const entries = groups.flatMap(({ name, rows }) => rows.map((row) => [name, row]));
    const amounts = (row) => [shown.requested[row], shown.allocatable[row]];
    // A node without the resource comes after idle ones.
    const part = (row) => (isLacking(...amounts(row)) ? -1 : share(...amounts(row)));
    if (byShare) entries.sort((one, other) => part(other[1]) - part(one[1]));
    const start = offset < entries.length ? offset : 0;
    const sort = (value) => () => this.setState({ byShare: value, offset: 0 });
    return html`<div class="scroll" tabindex="0" role="region" aria-label="Nodes">
        <table>
          <caption class="hidden">
            ${count(entries.length, "node")} by requested ${shown.name}
          </caption>
          <thead>
            <tr>
              <th scope="col" aria-sort=${byShare ? "none" : "other"}>
                <button class="plain" onClick=${sort(false)}>Node</button>
              </th>
              ${label && html`<th scope="col">${label}</th>`}
              <th scope="col" class="number" aria-sort=${byShare ? "descending" : "none"}>
                <button class="plain" onClick=${sort(true)}>${shown.name}</button>
              </th>
              <th scope="col" class="number">Requested</th>
              <th scope="col" class="number">Allocatable</th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            ${entries.slice(start, start + PAGE).map(
              ([group, row]) => html`<tr key=${table.names[row]}>
                <th scope="row"><${NodeLink} name=${table.names[row]} /></th>
                ${label && html`<td>${group}</td>`}
                <td class="number">${part(row) >= 0 && html`<${Bar} value=${part(row)} />`}${shareText(...amounts(row))}</td>
                <td class="number">${amount(shown.name, shown.requested[row])}</td>
                <td class="number">${amount(shown.name, shown.allocatable[row])}</td>
                <td>${statesOf(table, row).join(", ") || "schedulable"}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
      <${Paging} offset=${start} size=${PAGE} total=${entries.length} what="node" onMove=${(to) => this.setState({ offset: to })} />`;
  }
}
