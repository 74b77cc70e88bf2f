// Requests to the server of this page.

async function answerOf(response) {
  const type = response.headers.get("Content-Type") || "";
  if (!type.startsWith("application/json")) {
    throw new Error((await response.text()).trim() || `status ${response.status}`);
  }
  const data = await response.json();
  if (!response.ok) throw Object.assign(new Error(data.error), { retryAfter: data.retryAfter });
  return data;
}

/**
 * Return the answer to a GET; throw an Error whose message is for people. If it may be asked again,
 * the Error has the number of seconds as `retryAfter`.
 */
export async function get(path, parameters = {}) {
  const query = new URLSearchParams(parameters).toString();
  return answerOf(await fetch(query ? `${path}?${query}` : path));
}

/** Return the answer to a POST of data. */
export async function post(path, data) {
  const headers = { "Content-Type": "application/json" };
  return answerOf(await fetch(path, { method: "POST", headers, body: JSON.stringify(data) }));
}
