// Plays tracks: places, turns, sizes and visibility of nodes over time, with times in double precision.
class Player {
  constructor(viewer, {list, duration}, arrays) {
    Object.assign(this, {viewer, duration, time: 0, playing: false, speed: 1, shown: () => {}, last: 0});
    this.tracks = list.map(([path, property, times, values]) => {
      const node = viewer.scene_tree.find(path.split("/").filter(Boolean)).object;
      const width = {position: 3, scale: 3, quaternion: 4, visible: 1}[property];
      return {node, property, times: arrays[times], values: arrays[values], width, k: 0};
    });
    this.from = new MeshCat.THREE.Quaternion();
    this.to = new MeshCat.THREE.Quaternion();
  }

  play() { this.playing = true; this.last = performance.now(); this.tell(); }
  pause() { this.playing = false; this.tell(); }
  tell() { this.shown(this.time); }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.duration);
    for (const track of this.tracks) this.put(track);
    this.viewer.set_dirty();
    this.tell();
  }

  // Called for each picture of the screen.
  update() {
    if (!this.playing) return;
    const now = performance.now(), past = (now - this.last) / 1000;
    this.last = now;
    const time = this.time + this.speed * Math.min(past, 0.5);
    this.seek(time > this.duration ? 0 : time);
  }

  after_render() {}

  put(track) {
    const {node, property, times, values, width, time = this.time} = track;
    let k = track.k;
    if (!times.length) return;
    if (times[k] > time) k = 0;
    while (k + 1 < times.length && times[k + 1] <= time) k += 1;
    track.k = k;
    if (property === "visible") { node.visible = values[k] > 0; return; }
    const at = k * width, span = k + 1 < times.length ? times[k + 1] - times[k] : 0;
    const share = span > 0 ? Math.min(Math.max((time - times[k]) / span, 0), 1) : 0;
    if (property === "quaternion") {
      this.from.fromArray(values, at);
      node.quaternion.copy(share ? this.from.slerp(this.to.fromArray(values, at + 4), share) : this.from);
      return;
    }
    const mix = (i) => share ? values[at + i] + share * (values[at + 3 + i] - values[at + i]) : values[at + i];
    node[property].set(mix(0), mix(1), mix(2));
  }
}

// --- unpacking ------------------------------------------------------------------------------------
// Bytes go straight into the stream, not through a Blob: so the page is drawn before the browser calls it loaded.
const unpack = async (text) => {
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  writer.write(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  writer.close();
  const parts = [], reader = stream.readable.getReader();
  for (let part; !(part = await reader.read()).done;) parts.push(part.value);
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((place, part) => (bytes.set(part, place), place + part.length), 0);
  return bytes;
};
// Undoes `packing.arrays`: of each array all lowest bytes come first, then the next ones.
const unpack_arrays = async ({data, arrays}) => {
  const bytes = await unpack(data), make = {f8: Float64Array, f4: Float32Array, u1: Uint8Array};
  let at = 0;
  return arrays.map(([kind, count]) => {
    const width = Number(kind[1]), out = new Uint8Array(width * count);
    for (let byte = 0; byte < width; byte += 1, at += count)
      for (let k = 0; k < count; k += 1) out[width * k + byte] = bytes[at + k];
    return new make[kind](out.buffer);
  });
};
// Undoes `packing.pack`.
const unpack_mesh = async ({data, vertices, corners, low, step, smooth}) => {
  const bytes = await unpack(data), geometry = new MeshCat.THREE.BufferGeometry();
  let at = 0;
  const column = (count, width) => {
    const values = new Uint32Array(count);
    for (let byte = 0; byte < width; byte += 1, at += count)
      for (let k = 0; k < count; k += 1) values[k] |= bytes[at + k] << (8 * byte);
    return values;
  };
  const behind = column(corners, 4), index = new Uint32Array(corners);
  for (let k = 0, unused = 0; k < corners; k += 1) {
    index[k] = unused - behind[k];
    if (!behind[k]) unused += 1;
  }
  const triples = (width, value) => {
    const out = new Float32Array(3 * vertices), last = 2 ** (8 * width) - 1;
    for (let axis = 0; axis < 3; axis += 1) {
      const differences = column(vertices, width);
      for (let k = 0, sum = 0; k < vertices; k += 1) out[3 * k + axis] = value(sum = sum + differences[k] & last, axis);
    }
    return new MeshCat.THREE.BufferAttribute(out, 3);
  };
  geometry.setIndex(new MeshCat.THREE.BufferAttribute(index, 1));
  geometry.setAttribute("position", triples(2, (value, axis) => low[axis] + step[axis] * value));
  if (smooth) {
    geometry.setAttribute("normal", triples(1, (value) => (value << 24 >> 24) / 127));
    geometry.normalizeNormals();
  } else geometry.computeVertexNormals();  // flat ones need them to receive shadows
  return geometry;
};
