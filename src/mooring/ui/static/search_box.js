// The search for nodes and pods, by a part of their names.
import { Component, html } from "./html.js";
import { nodePath, podPath } from "./links.js";
import { get } from "./requests.js";

const PAUSE = 150;

export class SearchBox extends Component {
  state = { text: "", found: [], at: -1, isOpen: false };

  type = (event) => {
    const text = event.target.value;
    this.setState({ text, at: -1 });
    clearTimeout(this.timer);
    if (!text.trim()) {
      this.setState({ found: [], isOpen: false });
      return;
    }
    this.timer = setTimeout(() => this.search(text.trim()), PAUSE);
  };

  async search(text) {
    let answer;
    try {
      answer = await get("/api/search", { q: text });
    } catch {
      return;
    }
    if (this.state.text.trim() !== text) return;
    const pods = answer.pods.map(({ namespace, name, node }) => ({
      kind: "pod",
      text: `${namespace}/${name}`,
      more: node || "pending",
      path: podPath(namespace, name),
    }));
    const nodes = answer.nodes.map((name) => ({ kind: "node", text: name, more: "", path: nodePath(name) }));
    this.setState({ found: [...nodes, ...pods], isOpen: true, at: -1 });
  }

  go(one) {
    location.hash = one.path;
    this.setState({ text: "", found: [], isOpen: false, at: -1 });
  }

  press = (event) => {
    const { found, at, isOpen } = this.state;
    if (event.key === "Escape") {
      this.setState({ isOpen: false, at: -1 });
    } else if (isOpen && found.length && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.setState({ at: at < 0 && step < 0 ? found.length - 1 : (at + step + found.length) % found.length });
    } else if (event.key === "Enter" && isOpen && found.length) {
      event.preventDefault();
      this.go(found[Math.max(at, 0)]);
    }
  };

  leave = (event) => {
    if (!event.currentTarget.contains(event.relatedTarget)) this.setState({ isOpen: false });
  };

  render(_, { text, found, at, isOpen }) {
    return html`<div class="search" onFocusOut=${this.leave}>
      <label class="hidden" for="search">Search nodes and pods</label>
      <input
        id="search"
        type="search"
        role="combobox"
        autocomplete="off"
        placeholder="Search nodes and pods  ( / )"
        aria-expanded=${String(isOpen)}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant=${at >= 0 ? `found-${at}` : undefined}
        value=${text}
        onInput=${this.type}
        onKeyDown=${this.press}
      />
      <ul id="found" role="listbox" aria-label="Found" hidden=${!isOpen || !found.length}>
        ${found.map(
          (one, index) => html`<li
            id=${`found-${index}`}
            role="option"
            aria-selected=${String(index === at)}
            onPointerDown=${(event) => event.preventDefault()}
            onClick=${() => this.go(one)}
          >
            <span class="badge quiet">${one.kind}</span> ${one.text} <span class="quiet">${one.more}</span>
          </li>`,
        )}
      </ul>
      ${isOpen && !found.length && html`<p class="nothing" role="status">Nothing has this in its name.</p>`}
    </div>`;
  }
}
