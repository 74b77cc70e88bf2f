// Which nodes are shown, and in which groups.

const BY_NAME = new Intl.Collator("en", { numeric: true });
const orders = new WeakMap();

/** Return all rows by name: node-2 is before node-10. A table keeps its names, so sort it once. */
function ordered(table) {
  if (!orders.has(table)) {
    const rows = table.names.map((_, row) => row);
    orders.set(table, rows.sort((one, other) => BY_NAME.compare(table.names[one], table.names[other])));
  }
  return orders.get(table);
}

/** Return the rows that a filter selects: a part of the name, or label=value. */
export function filtered(table, text) {
  const rows = ordered(table);
  const wanted = text.trim();
  if (!wanted) return rows;
  const at = wanted.indexOf("=");
  const values = at > 0 ? table.labels[wanted.slice(0, at)] : undefined;
  if (values) return rows.filter((row) => values[row] === wanted.slice(at + 1));
  return rows.filter((row) => table.names[row].includes(wanted));
}

/** Return the groups of rows by the value of a label, as {name, rows}; one without a label. */
export function grouped(table, rows, label) {
  const values = table.labels[label];
  if (!values) return [{ name: "", rows }];
  const groups = new Map();
  for (const row of rows) {
    const value = values[row] ?? "";
    if (!groups.has(value)) groups.set(value, []);
    groups.get(value).push(row);
  }
  return [...groups]
    .sort(([one], [other]) => BY_NAME.compare(one, other))
    .map(([value, members]) => ({ name: value || `without ${label}`, rows: members }));
}

/** Return what keeps a node from being used, as `kubectl get nodes` calls it. */
export function statesOf(table, row) {
  return [table.notReady[row] && "NotReady", table.cordoned[row] && "cordoned"].filter(Boolean);
}

/** Return the column of a resource; the first one if there is none of this name. */
export function column(table, name) {
  return table.resources.find((one) => one.name === name) || table.resources[0];
}
