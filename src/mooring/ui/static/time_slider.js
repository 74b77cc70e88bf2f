// The moment of a journal that the page shows.
import { Component, html } from "./html.js";
import { cluster } from "./cluster.js";
import { moment } from "./format.js";

// While the slider moves, a moment is asked for after it has rested this long.
const PAUSE = 200;

export class TimeSlider extends Component {
  state = { wanted: null, isMoving: false, error: "" };

  slide = (event) => {
    this.setState({ wanted: Number(event.target.value), error: "" });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.move(), PAUSE);
  };

  /** Show the wanted moment; if another one is wanted meanwhile, that one afterwards. */
  async move() {
    if (this.state.isMoving) return;
    this.setState({ isMoving: true });
    let asked = null;
    let error = "";
    while (this.state.wanted !== asked) {
      asked = this.state.wanted;
      try {
        await cluster.moveTo(asked);
        error = "";
      } catch (failure) {
        error = failure.message;
      }
    }
    this.setState({ isMoving: false, wanted: null, error });
  }

  render({ past }, { wanted, isMoving, error }) {
    const time = wanted ?? past.time;
    return html`<div class="past">
      <label for="moment">Moment</label>
      <input
        id="moment"
        type="range"
        min=${Math.ceil(past.begin)}
        max=${Math.ceil(past.end)}
        step="1"
        value=${Math.round(time)}
        aria-valuetext=${moment(time)}
        onInput=${this.slide}
      />
      <output for="moment">${moment(time)}</output>
      <span class="quiet" role="status">${isMoving ? "Reading…" : ""}</span>
      ${error && html`<p class="problem" role="alert">${error}</p>`}
    </div>`;
  }
}
