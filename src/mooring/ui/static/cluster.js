// The state of the cluster as the server has told it, kept up to date by its events.
import { address, get, namesMoment, setMoment } from "./requests.js";

const MOST_DECISIONS = 500;
const RETRY = 2000;
// Nodes may come and go all the time; their columns are read again this often at most.
const READ_AGAIN = 1000;

class Cluster {
  constructor() {
    this.about = null;
    this.table = null;
    this.summary = null;
    this.decisions = [];
    // The number of the newest decision that was received, which need not be the last by time.
    this.lastDecision = 0;
    this.isLive = false;
    this.failure = "";
    // When the connection to the server of this page was lost, in seconds; 0 while it is there.
    this.lostAt = 0;
    // Why the moment that the address named is not shown.
    this.refusal = "";
    this.source = null;
    this.listeners = new Set();
    this.newestGeneration = -1;
    this.isReading = false;
    this.lastRead = 0;
    this.frame = 0;
  }

  /** Call a function after changes, at most once per frame; return the function that ends this. */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      for (const listener of this.listeners) listener();
    });
  }

  async start() {
    try {
      const [about, decisions] = await Promise.all([get("/api/about"), get("/api/decisions")]);
      this.about = about;
      this.setDecisions(decisions);
      await this.readNodes();
      this.follow();
    } catch (error) {
      if (error.status === 400 && namesMoment()) {
        this.refusal = error.message;
        setMoment("");
        this.start();
        return;
      }
      this.lose(error.message);
      setTimeout(() => this.start(), RETRY);
    }
  }

  /** Read the columns of all nodes, again if they have changed meanwhile. */
  async readNodes() {
    if (this.isReading) return;
    this.isReading = true;
    try {
      do {
        const wait = this.lastRead + READ_AGAIN - performance.now();
        if (this.table && wait > 0) await new Promise((done) => setTimeout(done, wait));
        this.lastRead = performance.now();
        this.table = await get("/api/nodes");
        this.tell();
      } while (this.table.generation < this.newestGeneration);
    } finally {
      this.isReading = false;
    }
  }

  follow() {
    const source = (this.source = new EventSource(address("/api/changes", { mark: this.table.mark })));
    source.onopen = () => {
      this.isLive = true;
      this.failure = "";
      this.lostAt = 0;
      this.tell();
    };
    source.onmessage = (event) => this.take(JSON.parse(event.data));
    source.onerror = () => {
      this.lose("The connection to mooring ui is lost");
      // The browser tries again by itself, unless the server has refused.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.start(), RETRY);
    };
  }

  /** Return since when the data may be old, in seconds; 0 if they are those of now. */
  oldSince() {
    const { lostSince } = this.summary || {};
    return lostSince && this.lostAt ? Math.min(lostSince, this.lostAt) : lostSince || this.lostAt;
  }

  lose(message) {
    this.isLive = false;
    this.failure = message;
    this.lostAt ||= Date.now() / 1000;
    this.tell();
  }

  /** Read everything that can be followed: the server may be another one, or show another moment. */
  async readAgain() {
    try {
      this.setDecisions(await get("/api/decisions"));
      await this.readNodes();
    } catch (error) {
      this.lose(error.message);
    }
  }

  /** Show another moment of the past. */
  async moveTo(time) {
    const [about, decisions] = await Promise.all(
      ["/api/about", "/api/decisions"].map((path) => get(path, { moment: time })),
    );
    setMoment(time);
    if (this.source) this.source.close();
    this.refusal = "";
    this.about = about;
    this.setDecisions(decisions);
    this.newestGeneration = -1;
    this.lastRead = -READ_AGAIN;
    try {
      await this.readNodes();
    } finally {
      this.follow();
    }
  }

  take(message) {
    if (message.reset !== undefined) {
      this.newestGeneration = message.reset;
      this.readAgain();
    }
    if (message.nodes) this.takeRows(message.nodes);
    if (message.allDecisions) this.setDecisions(message.allDecisions);
    if (message.decisions) {
      const fresh = message.decisions.filter((one) => one.sequence > this.lastDecision);
      this.setDecisions([...this.decisions, ...fresh]);
    }
    if (message.summary) this.summary = message.summary;
    this.tell();
  }

  /** Keep the newest decisions by time; the leader may report its decisions late. */
  setDecisions(decisions) {
    const sorted = [...decisions].sort((one, other) => one.time - other.time || one.sequence - other.sequence);
    this.decisions = sorted.slice(-MOST_DECISIONS);
    this.lastDecision = Math.max(0, ...decisions.map((one) => one.sequence));
  }

  takeRows({ version, after, generation, rows }) {
    this.newestGeneration = Math.max(this.newestGeneration, generation);
    const table = this.table;
    if (table.version !== version || after > table.generation) {
      this.readNodes().catch((error) => this.lose(error.message));
      return;
    }
    for (const [row, isCordoned, isNotReady, ...amounts] of rows) {
      table.cordoned[row] = isCordoned;
      table.notReady[row] = isNotReady;
      table.resources.forEach((resource, at) => {
        resource.allocatable[row] = amounts[2 * at];
        resource.requested[row] = amounts[2 * at + 1];
      });
    }
    table.generation = Math.max(table.generation, generation);
  }
}

export const cluster = new Cluster();
