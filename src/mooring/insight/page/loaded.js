// A view whose data are read from the server when it is opened, and again when they may differ.
import { Component, html } from "./html.js";

export class Loaded extends Component {
  state = { data: null, error: "" };
  turn = 0;

  componentDidMount() {
    this.load();
  }

  componentDidUpdate(before) {
    if (this.key(before) !== this.key(this.props)) this.load();
  }

  componentWillUnmount() {
    this.turn = -1;
  }

  /** Return what the data depend on, as text. */
  key(props) {
    return JSON.stringify(props.parameters);
  }

  async load() {
    const turn = ++this.turn;
    let found;
    try {
      found = { data: await this.read(this.props), error: "" };
    } catch (error) {
      found = { data: null, error: error.message };
    }
    // An answer that was overtaken by another question is dropped.
    if (turn === this.turn) this.setState(found);
  }

  render(props, { data, error }) {
    if (error) return html`<p class="problem" role="alert">${error}</p>`;
    if (!data) return html`<p class="loading" role="status">Asking…</p>`;
    return this.show(data, props);
  }
}
