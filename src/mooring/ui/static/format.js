// Amounts, shares and times as people read them.

const UNITS = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

function isBytes(resource) {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}

function rounded(number) {
  return number >= 100 || Number.isInteger(number) ? String(Math.round(number)) : number.toFixed(1);
}

/** Return an amount as Kubernetes writes it, rounded: cpu comes in thousandths. */
export function amount(resource, value) {
  if (resource === "cpu") return value % 1000 ? `${value}m` : String(value / 1000);
  if (!isBytes(resource)) return String(value);
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= 1024 && unit < UNITS.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return rounded(rest) + UNITS[unit];
}

/** Return an amount for a sum, where thousandths of a cpu say nothing. */
export function rough(resource, value) {
  return resource === "cpu" ? rounded(value / 1000) : amount(resource, value);
}

/** Return how much of what there is, as a share; 0 if there is nothing. */
export function share(requested, allocatable) {
  return allocatable > 0 ? requested / allocatable : requested > 0 ? Infinity : 0;
}

/** Return whether there is none of a resource, so that none of it is idle either. */
export function isLacking(requested, allocatable) {
  return !(requested > 0) && !(allocatable > 0);
}

/** Return how much of what there is in words; "none" if there is nothing. */
export function shareText(requested, allocatable) {
  return isLacking(requested, allocatable) ? "none" : percent(share(requested, allocatable));
}

export function percent(value) {
  return Number.isFinite(value) ? `${Math.round(value * 100)} %` : "over";
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function clock(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString("en-GB");
}

/** Return a time of day, with the date if it is not today's. */
export function when(seconds) {
  const isToday = new Date(seconds * 1000).toDateString() === new Date().toDateString();
  return isToday ? clock(seconds) : moment(seconds);
}

/** Return a moment with its date, in the time zone of the reader. */
export function moment(seconds) {
  const date = new Date(seconds * 1000);
  return `${date.toLocaleDateString("en-CA")} ${date.toLocaleTimeString("en-GB")}`;
}

/** Return how long before a moment of the past a time was, or before now if it is 0; in one unit. */
export function age(text, moment) {
  const until = moment ? moment * 1000 : Date.now();
  const seconds = Math.max(0, (until - Date.parse(text)) / 1000);
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

/** Return what a plugin says a node lacks, or its own text. */
export function diagnosis({ text, short }) {
  if (!short.length) return text;
  const parts = short.map((one) => `${one.resource} ${amount(one.resource, one.missing)}`);
  if (short.length > 1) return `${parts.join(", ")} short`;
  const [{ resource, asked, free }] = short;
  return `${parts[0]} short (asks ${amount(resource, asked)}, ${amount(resource, free)} free)`;
}

/** Return amounts joined by "and". */
export function amounts(missing) {
  const parts = Object.entries(missing).map(([name, value]) => `${amount(name, value)} of ${name}`);
  return parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join("");
}
