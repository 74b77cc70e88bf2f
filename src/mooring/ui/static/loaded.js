// A view whose data are read from the server when it is opened, and again when they may differ.
import { Component, html } from "./html.js";

// In a busy cluster data may differ all the time; they are read again this often at most.
const READ_AGAIN = 1000;

export class Loaded extends Component {
  state = { data: null, error: "" };
  isLoading = false;
  isOutdated = false;
  lastRead = 0;

  componentDidMount() {
    this.load();
  }

  componentDidUpdate(before) {
    if (JSON.stringify(before.parameters) !== JSON.stringify(this.props.parameters)) {
      this.loadLater(this.lastRead + READ_AGAIN - performance.now());
    }
  }

  componentWillUnmount() {
    this.isGone = true;
    clearTimeout(this.timer);
  }

  loadLater(milliseconds) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), milliseconds);
  }

  /** Read the data; if they are being read already, read them once more afterwards. */
  async load() {
    this.isOutdated = true;
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.isOutdated && !this.isGone) {
      this.isOutdated = false;
      this.lastRead = performance.now();
      let found;
      try {
        found = { data: await this.read(this.props), error: "" };
      } catch (error) {
        found = { data: null, error: error.message };
        if (error.retryAfter) this.loadLater(error.retryAfter * 1000);
      }
      if (!this.isGone) this.setState(found);
    }
    this.isLoading = false;
  }

  render(props, { data, error }) {
    if (error) return html`<p class="problem" role="alert">${error}</p>`;
    if (!data) return html`<p class="loading" role="status">Asking…</p>`;
    return this.show(data, props);
  }
}
