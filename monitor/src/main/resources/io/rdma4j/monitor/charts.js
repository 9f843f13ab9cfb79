"use strict";
/* Line charts of the last minutes on a canvas: one time axis for all, so that what happens at the
   same moment stands below each other. */

const CHART_SECONDS = 300;
const charts = [];

/** How far back the time axis goes: a minute at first, and as the points come in up to five. */
function chartMinutes(points) {
  const seconds = points.length ? (points[points.length - 1].epoch_ms - points[0].epoch_ms) / 1000 : 0;
  return Math.min(CHART_SECONDS / 60, Math.max(1, Math.ceil(seconds / 60)));
}

/** The colours of the page as they are now. */
function colour(name) {
  // light-dark() in a custom property stays as written; a property that takes a colour resolves it.
  const probe = colour.probe ??= document.body.appendChild(document.createElement("span"));
  probe.style.display = "none";
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

class Chart {
  /**
   * @param lines {figure, label, colour} each
   * @param format a figure in words
   * @param scale {base, log}: the axis ends at a round multiple of a power of base; log tells
   *   whether each tenfold is as high as the next
   */
  constructor(parent, title, lines, format, scale, onRead) {
    this.scale = scale;
    this.lines = lines;
    this.format = format;
    this.onRead = onRead;
    this.title = title;
    this.points = [];
    this.cursor = null;
    const box = parent.appendChild(document.createElement("div"));
    box.className = "chart";
    const heading = box.appendChild(document.createElement("h3"));
    heading.append(title, " ");
    for (const line of lines) {
      const key = heading.appendChild(document.createElement("span"));
      key.className = "quiet";
      const mark = key.appendChild(document.createElement("span"));
      mark.className = "key";
      mark.style.background = `var(--${line.colour})`;
      key.append(" " + line.label);
    }
    this.canvas = box.appendChild(document.createElement("canvas"));
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.addEventListener("pointermove", e => this.readAt(e.offsetX / this.canvas.clientWidth));
    this.canvas.addEventListener("pointerleave", () => this.read(null));
    this.canvas.addEventListener("blur", () => this.read(null));
    this.canvas.addEventListener("keydown", e => this.key(e));
    charts.push(this);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || this.points.length === 0) return;
    event.preventDefault();
    const last = this.points.length - 1;
    const at = this.cursor === null ? last : this.points.findIndex(p => p.epoch_ms === this.cursor) + step;
    this.read(this.points[Math.min(last, Math.max(0, at))].epoch_ms);
  }

  readAt(share) {
    if (this.points.length === 0) return;
    const end = this.points[this.points.length - 1].epoch_ms;
    const wanted = end - (1 - share) * chartMinutes(this.points) * 60_000;
    const near = this.points.reduce((a, b) => Math.abs(b.epoch_ms - wanted) < Math.abs(a.epoch_ms - wanted) ? b : a);
    this.read(near.epoch_ms);
  }

  /** Moves the cursor of all charts to a moment. */
  read(epochMs) {
    for (const chart of charts) {
      chart.cursor = epochMs;
      chart.draw();
    }
    this.onRead(this.points.find(p => p.epoch_ms === epochMs) ?? null);
  }

  show(points) {
    this.points = points;
    const now = points[points.length - 1];
    if (now) {
      const words = this.lines.map(l => `${l.label} ${this.format(now[l.figure])}`).join(", ");
      this.canvas.setAttribute("aria-label", `${this.title}, now: ${words}`);
    }
    this.draw();
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    const values = this.points.flatMap(p => this.lines.map(l => p[l.figure])).filter(v => v !== null && v !== undefined);
    const most = Chart.roundUp(Math.max(0, ...values), this.scale.base);
    const least = this.scale.log ? 10 ** Math.floor(Math.log10(Math.min(most / 10, ...values.filter(v => v > 0)))) : 0;
    const share = this.scale.log
      ? v => Math.max(0, Math.log(v / least) / Math.log(most / least)) : v => v / most;
    const top = 14, bottom = height - 16;
    const minutes = chartMinutes(this.points);
    this.axes(g, width, top, bottom, this.scale.log ? Chart.decades(least, most) : [most / 2, most], share, minutes);
    const end = this.points.length ? this.points[this.points.length - 1].epoch_ms : 0;
    const x = p => width * (1 - (end - p.epoch_ms) / (minutes * 60_000));
    const y = v => bottom - (bottom - top) * share(v);
    for (const line of this.lines) {
      g.strokeStyle = colour(line.colour);
      g.setLineDash(line.dash ?? []);
      g.lineWidth = 1.8;
      g.beginPath();
      let gap = true;
      for (const p of this.points) {
        const v = p[line.figure];
        if (v === null || v === undefined) { gap = true; continue; }
        if (gap) g.moveTo(x(p), y(v)); else g.lineTo(x(p), y(v));
        gap = false;
      }
      g.stroke();
    }
    g.setLineDash([]);
    const read = this.points.find(p => p.epoch_ms === this.cursor);
    if (read) {
      g.strokeStyle = colour("text");
      g.lineWidth = 1;
      g.beginPath();
      g.moveTo(x(read), top);
      g.lineTo(x(read), bottom);
      g.stroke();
    }
  }

  axes(g, width, top, bottom, values, share, minutes) {
    g.strokeStyle = colour("line");
    g.fillStyle = colour("quiet");
    g.lineWidth = 1;
    for (const value of [null, ...values]) {
      const y = Math.round(bottom - (bottom - top) * (value === null ? 0 : share(value))) + 0.5;
      g.beginPath();
      g.moveTo(0, y);
      g.lineTo(width, y);
      g.stroke();
      if (value !== null) g.fillText(this.format(value), 2, y - 2);
    }
    const steps = minutes === 1 ? [[0.75, "-45 s"], [0.5, "-30 s"], [0.25, "-15 s"]]
      : [4, 3, 2, 1].filter(m => m < minutes).map(m => [m / minutes, `-${m} min`]);
    for (const [share, words] of steps) g.fillText(words, width * (1 - share) - 14, bottom + 12);
    g.fillText("now", width - 22, bottom + 12);
  }

  /** The powers of ten above the one and up to the other, every second or third of them when there are many. */
  static decades(least, most) {
    const first = Math.round(Math.log10(least)) + 1, last = Math.floor(Math.log10(most) + 1e-9);
    const step = Math.ceil((last - first + 1) / 3);
    const powers = [];
    for (let power = last; power >= first; power -= step) powers.unshift(10 ** power);
    return powers;
  }

  /** 1, 2, 5, 10, 20 ... times a power of the base. */
  static roundUp(value, base) {
    if (!(value > 0)) return 1;
    const power = base ** Math.floor(Math.log(value) / Math.log(base));
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter(m => m < base);
    return power * (steps.find(m => m * power >= value) ?? base);
  }
}

window.addEventListener("resize", () => charts.forEach(chart => chart.draw()));
