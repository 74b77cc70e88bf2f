// The nodes as a heat map on a canvas: 5,000 cells cost one element.
import { Component, createRef, html } from "./html.js";
import { colourOf, inks, isDeep, onScheme, scale } from "./colours.js";
import { amount, count, isLacking, share, shareText } from "./format.js";
import { statesOf } from "./selection.js";

// Room for the frame of a cell at the edge.
const MARGIN = 3;
const GAP = 3;
const GROUP_GAP = 14;
const HEADING = 26;
const FONT = "12px system-ui, sans-serif";

/** Return the size of a cell, so that many nodes fit a screen and few are easy to hit. */
function cellSize(nodes) {
  if (nodes <= 60) return 84;
  if (nodes <= 400) return 34;
  return nodes <= 1500 ? 20 : 12;
}

/** Place the cells of all groups below each other; return them with the height of all. */
export function layOut(groups, width) {
  const total = groups.reduce((sum, group) => sum + group.rows.length, 0);
  const size = cellSize(total);
  const step = size + (size > 16 ? GAP : 2);
  const columns = Math.max(1, Math.floor((width + step - size) / step));
  const blocks = [];
  let top = 0;
  let first = 0;
  for (const group of groups) {
    const heading = group.name ? HEADING : 0;
    blocks.push({ ...group, top: top + heading, heading: top, first });
    first += group.rows.length;
    top += heading + Math.ceil(group.rows.length / columns) * step + (group.name ? GROUP_GAP : 0);
  }
  return { size, step, columns, blocks, total, height: Math.max(top, size) };
}

/** Return the place of a cell, counted over all groups. */
function placeOf(layout, index) {
  const block = layout.blocks.findLast((one) => one.first <= index);
  const at = index - block.first;
  const x = (at % layout.columns) * layout.step;
  const y = block.top + Math.floor(at / layout.columns) * layout.step;
  return { x, y, row: block.rows[at], group: block.name };
}

/** Return the index of the cell at a point; -1 if there is none. */
function indexAt(layout, x, y) {
  const block = layout.blocks.findLast((one) => one.top <= y);
  if (!block || x < 0) return -1;
  const column = Math.floor(x / layout.step);
  const at = Math.floor((y - block.top) / layout.step) * layout.columns + column;
  return column < layout.columns && at < block.rows.length ? block.first + at : -1;
}

export class HeatMap extends Component {
  canvas = createRef();
  box = createRef();
  state = { at: -1, isFocused: false };

  componentDidMount() {
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.box.current);
    this.endScheme = onScheme(() => this.draw());
    this.draw();
  }

  componentDidUpdate() {
    this.draw();
  }

  componentWillUnmount() {
    this.resized.disconnect();
    this.endScheme();
  }

  draw() {
    const { table, column, groups } = this.props;
    const canvas = this.canvas.current;
    const width = this.box.current.clientWidth;
    if (!width) return;
    const layout = (this.layout = layOut(groups, width - 2 * MARGIN));
    const height = layout.height + 2 * MARGIN;
    const ratio = window.devicePixelRatio || 1;
    const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) {
      [canvas.width, canvas.height] = pixels;
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, MARGIN * ratio, MARGIN * ratio);
    pen.clearRect(-MARGIN, -MARGIN, width, height);
    const colours = scale();
    const ink = inks();
    pen.textBaseline = "middle";
    for (const block of layout.blocks) {
      if (block.name) {
        pen.font = `600 13px system-ui, sans-serif`;
        pen.fillStyle = ink.text;
        pen.fillText(block.name, 0, block.heading + 10);
        const at = pen.measureText(block.name).width + 10;
        pen.font = FONT;
        pen.fillStyle = ink.quiet;
        pen.fillText(count(block.rows.length, "node"), at, block.heading + 10);
      }
      block.rows.forEach((row, at) => {
        const x = (at % layout.columns) * layout.step;
        const y = block.top + Math.floor(at / layout.columns) * layout.step;
        this.drawCell(pen, layout.size, x, y, table, column, row, colours, ink);
      });
    }
    const { at } = this.state;
    if (at >= 0 && at < layout.total) {
      const place = placeOf(layout, at);
      pen.lineWidth = 3;
      pen.strokeStyle = ink.focus;
      pen.strokeRect(place.x - 0.5, place.y - 0.5, layout.size + 1, layout.size + 1);
    }
  }

  drawCell(pen, size, x, y, table, column, row, colours, ink) {
    const [used, all] = [column.requested[row], column.allocatable[row]];
    const value = share(used, all);
    const colour = colourOf(value, colours);
    const isEmpty = isLacking(used, all);
    // What is drawn on the cell; one without the resource has no colour of its own.
    const contrast = isEmpty ? ink.quiet : isDeep(colour) ? "#ffffff" : "#1b2733";
    const inset = isEmpty ? 0.5 : 0;
    pen.beginPath();
    pen.roundRect(x + inset, y + inset, size - 2 * inset, size - 2 * inset, size > 40 ? 8 : size >= 20 ? 4 : 0);
    if (isEmpty) {
      pen.setLineDash(size >= 20 ? [3, 3] : [2, 2]);
      pen.lineWidth = 1;
      pen.strokeStyle = ink.quiet;
      pen.stroke();
      pen.setLineDash([]);
    } else {
      pen.fillStyle = colour;
      pen.fill();
      if (size > 40) {
        pen.lineWidth = 1;
        pen.strokeStyle = ink.line;
        pen.stroke();
      }
    }
    if (value > 1) {
      pen.lineWidth = 2;
      pen.strokeStyle = ink.over;
      pen.strokeRect(x + 1, y + 1, size - 2, size - 2);
    }
    // A large cell has texts at its left.
    const [from, to] = size > 40 ? [0.68, 0.9] : [0.2, 0.8];
    pen.lineWidth = size > 40 ? 2 : size >= 20 ? 1.5 : 1;
    pen.strokeStyle = contrast;
    pen.beginPath();
    if (table.cordoned[row] || table.notReady[row]) {
      pen.moveTo(x + size * from, y + size * to);
      pen.lineTo(x + size * to, y + size * from);
    }
    if (table.notReady[row]) {
      pen.moveTo(x + size * from, y + size * from);
      pen.lineTo(x + size * to, y + size * to);
    }
    pen.stroke();
    if (size > 40) {
      pen.fillStyle = isEmpty ? ink.text : contrast;
      pen.font = FONT;
      pen.fillText(table.names[row], x + 8, y + 18, size - 16);
      if (table.notReady[row]) pen.fillText("NotReady", x + 8, y + 38, size - 16);
      pen.font = "600 16px system-ui, sans-serif";
      pen.fillText(shareText(used, all), x + 8, y + size - 18, (size - 16) * from);
    }
  }

  /** Return what is known of the cell under the cursor. */
  said() {
    const { table, column, groups } = this.props;
    const total = groups.reduce((sum, group) => sum + group.rows.length, 0);
    const { at } = this.state;
    if (!this.layout || at < 0 || at >= total) return "";
    const { row, group } = placeOf(this.layout, at);
    const used = column.requested[row];
    const all = column.allocatable[row];
    const name = column.name;
    const parts = [`${table.names[row]}: ${shareText(used, all)} of ${name}`];
    if (!isLacking(used, all)) parts.push(`${amount(name, used)} of ${amount(name, all)} requested`);
    parts.push(...statesOf(table, row));
    if (group) parts.push(group);
    return parts.join(", ");
  }

  move(at) {
    if (at !== this.state.at) this.setState({ at });
  }

  point = (event) => {
    const frame = this.canvas.current.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left - MARGIN, event.clientY - frame.top - MARGIN];
    this.move(indexAt(this.layout, x, y));
  };

  open = () => {
    const { at } = this.state;
    if (at < 0 || at >= this.layout.total) return;
    const { row } = placeOf(this.layout, at);
    location.hash = `#/node/${encodeURIComponent(this.props.table.names[row])}`;
  };

  press = (event) => {
    const { total, columns } = this.layout;
    const at = Math.max(0, this.state.at);
    const steps = {
      ArrowRight: at + (this.state.at < 0 ? 0 : 1),
      ArrowLeft: at - 1,
      ArrowDown: at + (this.state.at < 0 ? 0 : columns),
      ArrowUp: at - columns,
      Home: 0,
      End: total - 1,
    };
    if (event.key === "Enter") {
      this.open();
    } else if (event.key in steps) {
      event.preventDefault();
      if (steps[event.key] >= 0 && steps[event.key] < total) this.move(steps[event.key]);
    }
  };

  render({ column, groups }) {
    const total = groups.reduce((sum, group) => sum + group.rows.length, 0);
    const label = `Heat map of ${count(total, "node")} by requested ${column.name}. `;
    const keys = "Arrow keys move, Enter opens a node; the table shows the same.";
    return html`<div class="map" ref=${this.box}>
      <canvas
        ref=${this.canvas}
        tabindex="0"
        role="application"
        aria-roledescription="heat map"
        aria-label=${label + keys}
        onPointerMove=${this.point}
        onPointerLeave=${() => this.move(-1)}
        onClick=${this.open}
        onKeyDown=${this.press}
      ></canvas>
      <p class="said" role="status">${this.said() || keys}</p>
    </div>`;
  }
}

/** The colours of the scale with their meaning. */
export function Legend() {
  return html`<div class="legend" aria-hidden="true">
    <span>0 %</span>
    <span class="ramp">${scale().map((colour) => html`<i style=${{ background: colour }}></i>`)}</span>
    <span>100 % requested</span>
    <span class="mark over"></span><span>over</span>
    <span class="mark none"></span><span>none of it</span>
    <span class="mark cordoned"></span><span>cordoned</span>
    <span class="mark not-ready"></span><span>NotReady</span>
  </div>`;
}
