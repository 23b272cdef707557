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
// Boxes that show and hide groups, {name: [node above it, whether it is shown]}; `turned` is told of each that is turned.
const make_switches = (viewer, groups, turned = () => {}) => {
  el("groups").replaceChildren(...Object.entries(groups).map(([name, [path, shown]]) => {
    const label = document.createElement("label"), box = document.createElement("input");
    const show = () => {
      viewer.scene_tree.find(path.split("/").filter(Boolean)).object.visible = box.checked;
      viewer.set_dirty();
    };
    Object.assign(box, {type: "checkbox", id: `show-${name.replaceAll(" ", "-")}`, checked: shown});
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
  moment.dateTime = moment.title = `${time} s`;  // all digits
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
// What keys do, unless a list, a button or a box has them.
const KEYS = {Space: "#play", KeyN: "#next", KeyP: "#before", Digit0: "[data-view=home]", Digit1: "[data-view=front]",
  Digit2: "[data-view=side]", Digit3: "[data-view=top]", KeyL: "[data-toggle=labels]", KeyF: "[data-toggle=frames]",
  KeyM: "[data-toggle=mass]", KeyG: "[data-toggle=shapes]",
  KeyE: "#tools [data-sheet=side]", KeyC: "#tools [data-sheet=plots]", KeyS: "#save"};
const listen_to_keys = (step) => document.addEventListener("keydown", (event) => {
  const {tagName, type} = event.target, typed = tagName === "SELECT" || tagName === "INPUT" && ["search", "text", "number"].includes(type);
  const taken = typed || event.code === "Space" && (tagName === "BUTTON" || type === "checkbox");
  if (taken || el("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
  const arrow = {ArrowLeft: -1, ArrowRight: 1}[event.code];
  if (event.key === "?") el("ask").click();
  else if (arrow && type !== "range") step(arrow * (event.shiftKey ? 0.001 : 0.01));
  else if (KEYS[event.code]) document.querySelector(KEYS[event.code])?.click();
  else return;
  event.preventDefault();
});

// --- sheets, views, saving and sharing ---------------------------------------------------------------
const NARROW = matchMedia("(max-width: 760px)");
const show_sheets = () => {
  const open = (name) => NARROW.matches ? document.body.dataset.sheet === name : !document.body.classList.contains(`no-${name}`);
  document.querySelectorAll("[data-sheet]").forEach((button) => {
    if (button.tagName === "BUTTON") button.setAttribute("aria-pressed", open(button.dataset.sheet));
  });
};
const turn_sheet = (name) => {
  if (NARROW.matches) {
    document.body.dataset.sheet = document.body.dataset.sheet === name ? "" : name;
    document.body.classList.remove(`no-${name}`);
  } else document.body.classList.toggle(`no-${name}`);
  show_sheets();
};
const say_shortly = (text) => {
  el("told").textContent = text;
  el("told").hidden = false;
  setTimeout(() => { el("told").hidden = true; }, 2500);
};
const save_as = (name, address) => Object.assign(document.createElement("a"), {download: name, href: address}).click();
const file_name = () => document.title.replace(/[^\w-]+/g, "-") || "run";
// Makes the row of tools work on a `view` and its `curves`; `moment` tells the time that is shown [s].
const make_tools = (view, curves, moment) => {
  document.body.dataset.sheet = "plots";
  document.querySelectorAll("button[data-sheet]").forEach((button) => { button.onclick = () => turn_sheet(button.dataset.sheet); });
  document.querySelectorAll("[data-view]").forEach((button) => { button.onclick = () => view.preset(button.dataset.view); });
  document.querySelectorAll("[data-toggle]").forEach((button) => { button.onclick = () => view.toggle(button.dataset.toggle); });
  NARROW.addEventListener("change", show_sheets);
  show_sheets();
  el("save").onclick = () => save_as(`${file_name()}-${moment().toFixed(4)}s.png`, view.picture());
  el("save-curves").onclick = () => save_as(`${file_name()}.csv`, `data:text/csv;charset=utf-8,${encodeURIComponent(curves.table())}`);
  el("share").onclick = async () => {
    const address = `${location.href.split("#")[0]}#t=${moment()}&eye=${view.eye()}`;
    history.replaceState(null, "", address);
    try {
      await navigator.clipboard.writeText(address);
      say_shortly("the address of this moment and view is copied");
    } catch { say_shortly("the address of this page is now that of this moment and view"); }
  };
  el("ask").onclick = () => el("help").showModal();
};
