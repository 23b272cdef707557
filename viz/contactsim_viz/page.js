// What the offline page and the live page share.
const el = (id) => document.getElementById(id);
const set_text = (id, text) => { if (el(id).textContent !== text) el(id).textContent = text; };

// Draws one command; a part that cannot be drawn does not keep the others from it.
const draw_command = (viewer, bytes) => {
  try {
    viewer.handle_command_bytearray(bytes);
  } catch (error) {
    console.warn("a part of the scene cannot be drawn:", error);
  }
};
// Collada files bring display colours; the page lights in linear light.
const convert_colours = (root) => root.traverse((node) => {
  for (const material of [node.material].flat()) {
    if (!material || !(material.isMeshPhongMaterial || material.isMeshLambertMaterial)) continue;
    material.color.convertSRGBToLinear();
    if (material.specular) material.specular.multiplyScalar(0.2);
    if (material.map) material.map.encoding = MeshCat.THREE.sRGBEncoding;
  }
});
// Begins to show what was drawn.
const begin = (viewer) => {
  // A window that is higher than wide sees the whole robot from farther away.
  viewer.camera.position.multiplyScalar(Math.max(1, 1.35 * innerHeight / innerWidth));
  viewer.animate();
  document.body.classList.add("ready");
};
// Boxes that show and hide groups, {name: [node above it, whether it is shown]}; `turned` is told of each that is turned.
const make_switches = (viewer, groups, turned = () => {}) => {
  el("groups").replaceChildren(...Object.entries(groups).map(([name, [path, shown]]) => {
    const label = document.createElement("label"), box = document.createElement("input");
    const show = () => {
      viewer.scene_tree.find(path.split("/").filter(Boolean)).object.visible = box.checked;
      viewer.set_dirty();
    };
    Object.assign(box, {type: "checkbox", id: `show-${name}`, checked: shown});
    box.onchange = () => { show(); turned(name, box.checked); };
    show();
    label.append(box, name);
    return label;
  }));
};

// --- the bar and the list of events -----------------------------------------------------------------
const set_icon = (playing) => {
  const shape = playing ? "M2 1h3.5v12H2zM8.5 1H12v12H8.5z" : "M3 1l10 6-10 6z";
  if (el("play").dataset.shape === shape) return;
  el("play").innerHTML = `<svg width="14" height="14" viewBox="0 0 14 14"><path d="${shape}"/></svg>`;
  el("play").dataset.shape = shape;
};
const set_clock = (now, end) => { el("clock").innerHTML = `<strong>${now.toFixed(3)}</strong> / ${end.toFixed(2)} s`; };
// Marks on the time line, at shares of it.
const set_ticks = (shares) => el("ticks").replaceChildren(...shares.map((share) => {
  const mark = document.createElement("b");
  mark.style.left = `${100 * share}%`;
  return mark;
}));
// A line of the list of events, which leads to its time when it is clicked; `more` is told below it.
const log_line = (time, text, go, more = "") => {
  const item = document.createElement("li"), moment = document.createElement("time");
  moment.textContent = time.toFixed(4);
  item.append(moment, text);
  if (more) item.append(Object.assign(document.createElement("small"), {textContent: more}));
  item.onclick = go;
  return item;
};
const add_to_log = (items) => el("log").querySelector("ol").append(...items);
const tell_count = (count, more = "") => {
  el("log").classList.toggle("filled", count > 0);
  el("log").querySelector("summary").textContent = `${count} event${count === 1 ? "" : "s"}${more}`;
};
// The space bar, n and p do what their buttons do, unless a list, a button or a box has them.
const listen_to_keys = () => document.addEventListener("keydown", (event) => {
  const {tagName, type} = event.target, button = {Space: "play", KeyN: "next", KeyP: "before"}[event.code];
  const taken = tagName === "SELECT" || event.code === "Space" && (tagName === "BUTTON" || type === "checkbox");
  if (!button || taken) return;
  event.preventDefault();
  el(button).onclick();
});
