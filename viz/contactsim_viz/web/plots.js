// Curves over time below the picture: modes of contacts as bars, values as lines, a cursor at the time that is shown.
const ROW = 9, LEFT = 62, RIGHT = 10, BELOW = 18, GAP = 6;  // pixels
const MODE_BARS = {open: "#e4e7ec", stick: "#12b76a", slip: "#f79009"};
const nice_step = (span, count) => {
  const raw = span / Math.max(count, 1), decade = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((digit) => digit * decade).find((step) => step >= raw);
};
const nice_ticks = (low, high, count) => {
  const step = nice_step(high - low, count), first = Math.ceil(low / step - 1e-9);
  return Array.from({length: Math.max(0, Math.floor(high / step + 1e-9) - first + 1)}, (_, k) => (first + k) * step);
};
const in_digits = (value, step) => {
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  return Math.abs(value) >= 1e5 || step < 1e-6 ? value.toExponential(1) : value.toFixed(Math.min(digits, 9));
};

class Curves {
  // `data`: {kinds: [{kind, unit, names, words, colours}], contacts: [words], times, values: [row by row of each kind],
  // modes: {times, rows}, events: [times]}; `go(time)` is asked for a time. All times as the data have them.
  constructor(data, go) {
    Object.assign(this, {data, go, time: 0, from: 0, to: 1, whole: true, hidden: new Set(), chosen: 0});
    [this.under, this.over] = el("chart-area").querySelectorAll("canvas");
    el("kind").onchange = () => { this.chosen = Number(el("kind").value); this.hidden.clear(); this.begin(); };
    new ResizeObserver(() => this.draw()).observe(el("chart-area"));
    this.listen();
    this.begin();
  }

  begin() {
    const {kinds, contacts} = this.data;
    document.body.classList.toggle("no-curves", !kinds.length && !contacts.length);
    el("kind").replaceChildren(...kinds.map(({kind, unit}, k) => new Option(unit && !kind.includes(unit) ? `${kind} [${unit}]` : kind, k, false, k === this.chosen)));
    const held = kinds[this.chosen];
    el("names").replaceChildren(...(held?.names ?? []).map((name, k) => {
      const label = document.createElement("label"), line = document.createElement("i"), value = document.createElement("output");
      line.style.background = held.colours[k];
      label.append(line, `${held.words[k]} `, value);
      label.title = name;
      label.onclick = () => {
        this.hidden.has(k) ? this.hidden.delete(k) : this.hidden.add(k);
        label.classList.toggle("off", this.hidden.has(k));
        this.draw();
      };
      return label;
    }));
    this.draw();
  }

  get ends() {
    const {times, modes} = this.data;
    return [times[0] ?? modes.times[0] ?? 0, Math.max(times.at?.(-1) ?? 0, this.data.end ?? 0)];
  }

  // Times that are seen.
  span() {
    const [start, end] = this.ends;
    return this.whole ? [start, Math.max(end, start + 1e-9)] : [this.from, this.to];
  }

  listen() {
    const area = el("chart-area");
    let held = false;
    const at = (event) => this.time_at(event.clientX - area.getBoundingClientRect().left);
    area.addEventListener("pointerdown", (event) => {
      held = true;
      area.setPointerCapture(event.pointerId);
      this.go(at(event));
    });
    area.addEventListener("pointermove", (event) => { if (held) this.go(at(event)); });
    for (const end of ["pointerup", "pointercancel"]) area.addEventListener(end, () => { held = false; });
    area.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [from, to] = this.span(), [start, end] = this.ends, centre = at(event), factor = Math.exp(event.deltaY / 400);
      Object.assign(this, {from: Math.max(start, centre + (from - centre) * factor), to: Math.min(end, centre + (to - centre) * factor)});
      this.whole = this.from <= start && this.to >= end;
      this.draw();
    }, {passive: false});
    area.addEventListener("dblclick", () => { this.whole = true; this.draw(); });
  }

  time_at(x) {
    const [from, to] = this.span(), [start, end] = this.ends;
    const time = from + (x - LEFT) / Math.max(this.under.clientWidth - LEFT - RIGHT, 1) * (to - from);
    return Math.min(Math.max(time, start), end);
  }

  x_of(time) {
    const [from, to] = this.span();
    return LEFT + (time - from) / (to - from) * (this.under.clientWidth - LEFT - RIGHT);
  }

  sized(canvas) {
    const {clientWidth, clientHeight} = canvas, ratio = devicePixelRatio, pen = canvas.getContext("2d");
    if (canvas.width !== Math.round(clientWidth * ratio) || canvas.height !== Math.round(clientHeight * ratio)) {
      canvas.width = Math.round(clientWidth * ratio);
      canvas.height = Math.round(clientHeight * ratio);
    }
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, clientWidth, clientHeight);
    pen.font = "11px system-ui, sans-serif";
    return pen;
  }

  draw() {
    const {clientWidth: wide, clientHeight: high} = this.under;
    if (!wide || !high) return;
    const pen = this.sized(this.under), rows = this.data.contacts.length;
    const row = Math.min(ROW, Math.max(2, 0.4 * high / Math.max(rows, 1)));
    const top = rows * row + (rows ? GAP : 2);
    this.draw_modes(pen, row);
    this.draw_lines(pen, top, high - BELOW, wide);
    const [from, to] = this.span(), count = (wide - LEFT) / 90, step = nice_step(to - from, count);
    pen.fillStyle = "#5b6678";
    pen.textAlign = "center";
    for (const t of nice_ticks(from, to, count)) pen.fillText(`${in_digits(t, step)} s`, this.x_of(t), high - 4);
    this.cursor();
  }

  // A bar for each contact; what lasts shorter than a pixel is a pixel wide, and slipping lies above sticking.
  draw_modes(pen, row) {
    const {modes, contacts} = this.data, [from, to] = this.span(), [, end] = this.ends;
    contacts.forEach((name, k) => {
      const bars = [];
      let mode = null, begun = 0;
      const close = (until) => { if (mode && until >= from && begun <= to) bars.push([mode, begun, until]); };
      for (let i = 0; i < modes.times.length; i += 1) {
        const now = modes.rows[i][k];
        if (now === mode) continue;
        close(modes.times[i]);
        [mode, begun] = [now, modes.times[i]];
      }
      close(end);
      for (const wanted of ["open", "stick", "slip"]) {
        pen.fillStyle = MODE_BARS[wanted];
        for (const [found, a, b] of bars) {
          if (found !== wanted) continue;
          const left = Math.max(this.x_of(a), LEFT), right = Math.min(this.x_of(b), this.under.clientWidth - RIGHT);
          pen.fillRect(left, k * row, Math.max(right - left, 1), row - 1);
        }
      }
      if (row >= 6) {
        pen.fillStyle = this.data.contact_colours?.[k] ?? "#5b6678";
        pen.textAlign = "right";
        pen.font = `${Math.min(row + 2, 10)}px system-ui, sans-serif`;
        pen.fillText(name.slice(0, 11), LEFT - 5, k * row + row - 1);
        pen.font = "11px system-ui, sans-serif";
      }
    });
  }

  draw_lines(pen, top, bottom, wide) {
    const held = this.data.kinds[this.chosen], {times} = this.data, [from, to] = this.span();
    if (!held || bottom - top < 20) return;
    const values = this.data.values[this.chosen], count = held.names.length, shown = held.names.map((_, k) => k).filter((k) => !this.hidden.has(k));
    let low = Infinity, high = -Infinity;
    for (let i = 0; i < times.length; i += 1) {
      if (times[i] < from || times[i] > to) continue;
      for (const k of shown) {
        const value = values[i * count + k];
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(low <= high)) return;
    const room = Math.max((high - low) * 0.06, 1e-9 * Math.abs(high), 1e-12);
    low -= room;
    high += room;
    const y_of = (value) => bottom - (value - low) / (high - low) * (bottom - top), ticks = Math.max(2, (bottom - top) / 30);
    pen.strokeStyle = "#e4e7ec";
    pen.fillStyle = "#5b6678";
    pen.textAlign = "right";
    pen.lineWidth = 1;
    for (const value of nice_ticks(low, high, ticks)) {
      pen.beginPath();
      pen.moveTo(LEFT, y_of(value));
      pen.lineTo(wide - RIGHT, y_of(value));
      pen.stroke();
      pen.fillText(in_digits(value, nice_step(high - low, ticks)), LEFT - 5, y_of(value) + 4);
    }
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, top, wide - LEFT - RIGHT, bottom - top);
    pen.clip();
    if (this.data.events.length <= 400) {
      pen.strokeStyle = "rgba(102, 112, 133, .28)";
      pen.beginPath();
      for (const t of this.data.events) if (t >= from && t <= to) { pen.moveTo(this.x_of(t), top); pen.lineTo(this.x_of(t), bottom); }
      pen.stroke();
    }
    pen.lineWidth = 1.4;
    // Lines that lie on one another show through: each is dashed in its own turn.
    for (const [place, k] of shown.entries()) {
      pen.strokeStyle = held.colours[k];
      pen.setLineDash(shown.length > 1 ? [12, 4 * (place % 3)] : []);
      pen.lineDashOffset = 5 * place;
      pen.beginPath();
      let broken = true;
      for (let i = 0; i < times.length; i += 1) {
        const value = values[i * count + k];
        if (Number.isNaN(value)) { broken = true; continue; }
        broken ? pen.moveTo(this.x_of(times[i]), y_of(value)) : pen.lineTo(this.x_of(times[i]), y_of(value));
        broken = false;
      }
      pen.stroke();
    }
    pen.restore();
    pen.setLineDash([]);
  }

  // Number of the last sample at the time that is shown, or before it.
  place(time) {
    const {times} = this.data;
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      times[middle] <= time ? low = middle : high = middle - 1;
    }
    return low;
  }

  value_at(time, chosen, k) {
    const {times, kinds, values} = this.data, count = kinds[chosen].names.length, i = this.place(time);
    const here = values[chosen][i * count + k], next = values[chosen][(i + 1) * count + k], span = times[i + 1] - times[i];
    return span > 0 && Number.isFinite(next) ? here + (time - times[i]) / span * (next - here) : here;
  }

  show(time) {
    this.time = time;
    this.cursor();
  }

  cursor() {
    const {clientWidth, clientHeight} = this.over;
    if (!clientWidth || !clientHeight) return;
    const pen = this.sized(this.over), x = this.x_of(this.time);
    if (x >= LEFT - 1 && x <= clientWidth - RIGHT + 1) {
      pen.strokeStyle = "#4f6df5";
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, 0);
      pen.lineTo(x, clientHeight - BELOW + 3);
      pen.stroke();
    }
    const held = this.data.kinds[this.chosen];
    if (!held || !this.data.times.length) return;
    el("names").querySelectorAll("output").forEach((output, k) => {
      const value = this.value_at(this.time, this.chosen, k);
      output.textContent = Number.isFinite(value) ? value.toPrecision(3) : "–";
    });
  }

  // All curves as a table, comma by comma.
  table() {
    const {times, kinds, values} = this.data, quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    const head = ["time [s]", ...kinds.flatMap(({kind, unit, names}) => names.map((name) => `${kind} ${name} [${unit}]`))];
    const rows = Array.from(times, (t, i) => [t, ...kinds.flatMap(({names}, j) => names.map((_, k) => values[j][i * names.length + k]))].join(","));
    return [head.map(quoted).join(","), ...rows].join("\n");
  }
}
