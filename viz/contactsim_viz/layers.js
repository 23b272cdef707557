// What the offline page adds to the picture: groups to show and hide, numbers beside the time, details of the events.
const dress = (viewer, run) => {
  for (const [name, [path, shown]] of Object.entries(run.groups)) {
    const label = document.createElement("label"), box = document.createElement("input");
    const node = viewer.scene_tree.find(path.split("/").filter(Boolean)).object;
    Object.assign(box, {type: "checkbox", id: `show-${name}`, checked: shown});
    box.onchange = () => { node.visible = box.checked; viewer.set_dirty(); };
    box.onchange();
    label.append(box, name);
    document.getElementById("groups").append(label);
  }
  document.querySelectorAll("#log li").forEach((item, k) => {
    if (!run.details[k]) return;
    const words = document.createElement("small");
    words.textContent = run.details[k];
    item.append(words);
  });
};
const show_head = (run, time, duration) => {
  const told = Object.entries(run.head).map(([name, [unit, values]]) => {
    const place = Math.min(Math.max(time / Math.max(duration, 1e-9), 0), 1) * (values.length - 1);
    const low = Math.floor(place), high = Math.min(low + 1, values.length - 1);
    const value = values[low] + (place - low) * (values[high] - values[low]);
    return `${name} <b>${value.toPrecision(4)}</b> ${unit}`;
  });
  const text = [`<b>${(run.start + time).toFixed(3)}</b> s`, ...told].join(" &nbsp; ");
  const head = document.getElementById("head");
  if (head.innerHTML !== text) head.innerHTML = text;
};
