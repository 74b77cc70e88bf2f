// Requests to the server of this page.

// The moment of the past that this page shows, in seconds; empty for the end of the journal, or for
// a cluster. It is in the page's own address, so that each tab has its own.
let moment = new URLSearchParams(location.search).get("moment") || "";

/** Make all requests about another moment, and name it in the address of the page. */
export function setMoment(time) {
  moment = String(time);
  const search = moment ? `?moment=${encodeURIComponent(moment)}` : "";
  history.replaceState(null, "", `${location.pathname}${search}${location.hash}`);
}

/** Return whether the address of the page names a moment. */
export function namesMoment() {
  return moment !== "";
}

/** Return the address of a path of the server, about the moment that this page shows. */
export function address(path, parameters = {}) {
  const query = new URLSearchParams(moment ? { moment, ...parameters } : parameters).toString();
  return query ? `${path}?${query}` : path;
}

async function answerOf(response) {
  const type = response.headers.get("Content-Type") || "";
  if (!type.startsWith("application/json")) {
    throw new Error((await response.text()).trim() || `status ${response.status}`);
  }
  const data = await response.json();
  if (!response.ok) {
    const { status } = response;
    throw Object.assign(new Error(data.error), { status, retryAfter: data.retryAfter });
  }
  return data;
}

/**
 * Return the answer to a GET; throw an Error whose message is for people, with the `status` of the
 * answer. If it may be asked again, the Error has the number of seconds as `retryAfter`.
 */
export async function get(path, parameters = {}) {
  return answerOf(await fetch(address(path, parameters)));
}

/** Return the answer to a POST of data. */
export async function post(path, data) {
  const headers = { "Content-Type": "application/json" };
  return answerOf(await fetch(path, { method: "POST", headers, body: JSON.stringify(data) }));
}
