// The picture and what is asked of it: views, names, axes, and which body was clicked.
const VIEWS = {front: [1, 0.12, 0], side: [0, 0.12, 1], top: [0.001, 1, 0]};  // y upwards, as the camera has it
const ROOM = 1.06;  // around a robot that the camera follows lazily
const CLICK = 5;  // pixels that a click may move

class View {
  constructor(still = false, film = false) {
    const {THREE} = MeshCat, slow = by_processor();
    const renderer = new THREE.WebGLRenderer({antialias: still || !slow, alpha: true});
    renderer.outputEncoding = THREE.sRGBEncoding;
    el("scene").appendChild(renderer.domElement);
    this.viewer = new MeshCat.Viewer(el("scene"), false, renderer);
    this.quality = new Quality(this.viewer, slow, still, film);
    const size = this.viewer.set_3d_pane_size.bind(this.viewer);
    this.viewer.set_3d_pane_size = () => {
      const {clientWidth, clientHeight} = el("pane");
      if (clientWidth && clientHeight) size(clientWidth, clientHeight);
    };
    new ResizeObserver(() => this.viewer.set_3d_pane_size()).observe(el("pane"));
    Object.assign(this, {about: {}, newton: null, on: {labels: false, frames: false, mass: false, shapes: false}, chosen: null, marks: [], moving: () => false,
      drawn: () => {}});
  }

  node(path) { return this.viewer.scene_tree.find(path.split("/").filter(Boolean)).object; }

  // Begins to show what was drawn. `about` tells {size, bodies: {path: name}, contacts: {name: [words, colour, joint path]}}.
  begin(about, newton, moving) {
    const {viewer} = this;
    Object.assign(this, {about, newton, moving});
    const {clientWidth, clientHeight} = el("pane");
    // A window that is higher than wide sees the whole robot from farther away.
    const room = this.quality.still ? 1 : ROOM;
    viewer.camera.position.multiplyScalar(room * Math.max(1, 1.35 * clientHeight / clientWidth));
    this.home = viewer.camera.position.clone();
    this.quality.apply();
    const render = viewer.render.bind(viewer);
    this.offer_toggles();
    viewer.render = () => {
      this.place_mass();
      render();
      this.place_labels();
      this.drawn();
    };
    const draw = () => {
      requestAnimationFrame(draw);
      viewer.animator.update();
      if (viewer.needs_render) this.quality.draw(() => viewer.render(), this.moving() || this.turned);
      this.turned = false;
    };
    viewer.controls.addEventListener("change", () => { this.turned = true; });
    draw();
    setInterval(() => this.quality.settle(), 100);
    this.listen();
    const asked = new URLSearchParams(location.hash.slice(1)).get("eye");
    const numbers = asked?.split(",").map(Number);
    if (numbers?.length === 6 && numbers.every(Number.isFinite)) this.look(numbers.slice(0, 3), numbers.slice(3));
    document.body.classList.add("ready");
  }

  look(from, at = [0, 0, 0]) {
    this.viewer.camera.position.fromArray(from);
    this.viewer.controls.target.fromArray(at);
    this.viewer.controls.update();
    this.turned = true;
    this.viewer.set_dirty();
  }

  preset(name) {
    if (name === "home") return this.look(this.home.toArray());
    const way = new MeshCat.THREE.Vector3(...VIEWS[name]);
    this.look(way.normalize().multiplyScalar(this.home.length()).toArray());
  }

  // Where it is looked at from, for a link.
  eye() {
    const {camera, controls} = this.viewer;
    return [...camera.position.toArray(), ...controls.target.toArray()].map((x) => +x.toPrecision(5)).join(",");
  }

  toggle(name) {
    this.on[name] = !this.on[name];
    document.querySelectorAll(`[data-toggle=${name}]`).forEach((b) => b.setAttribute("aria-pressed", this.on[name]));
    if (name === "frames") this.show_frames();
    if (name === "shapes") for (const path of this.about.collisions) this.node(path).visible = this.on.shapes;
    if (!this.on.labels && !this.on.mass && !this.chosen) el("labels").replaceChildren();
    this.viewer.set_dirty();
  }

  // Only what this run has can be shown.
  offer_toggles() {
    const {contacts = {}, joints = {}, masses = {}, collisions = []} = this.about;
    const count = {labels: Object.keys(contacts).length, frames: Object.keys(joints).length, mass: Object.keys(masses).length,
      shapes: collisions.length};
    document.querySelectorAll("[data-toggle]").forEach((button) => { button.hidden = !count[button.dataset.toggle]; });
  }

  // The centre of mass of all bodies: a ball of black and white octants.
  place_mass() {
    const {THREE} = MeshCat, world = this.node("world");
    let mark = world.getObjectByName("centre of mass");
    if (!this.on.mass) { if (mark) mark.visible = false; return; }
    if (!mark) world.add(mark = this.mass_mark());
    const sum = new THREE.Vector3(), one = new THREE.Vector3();
    let total = 0;
    for (const [path, [mass, centre]] of Object.entries(this.about.masses)) {
      const {position, quaternion} = this.node(path);
      sum.addScaledVector(one.fromArray(centre).applyQuaternion(quaternion).add(position), mass);
      total += mass;
    }
    mark.visible = true;
    mark.position.copy(sum.divideScalar(total));
  }

  mass_mark() {
    const {THREE} = MeshCat, mark = Object.assign(new THREE.Group(), {name: "centre of mass"}), right = Math.PI / 2;
    const paints = [0x101828, 0xffffff].map((color) => new THREE.MeshBasicMaterial({color, depthTest: false, transparent: true}));
    for (let k = 0; k < 8; k += 1) {
      const octant = new THREE.SphereGeometry(0.022 * this.about.size, 6, 6, (k >> 1) * right, right, (k & 1) * right, right);
      mark.add(Object.assign(new THREE.Mesh(octant, paints[(k + (k >> 1)) & 1]), {renderOrder: 11}));
    }
    return mark;
  }

  show_frames() {
    for (const joint of new Set(Object.values(this.about.joints ?? {}))) {
      const node = this.node(joint);
      let axes = node.getObjectByName("axes of the joint");
      if (!axes) {
        axes = Object.assign(new MeshCat.THREE.AxesHelper(0.14 * this.about.size), {name: "axes of the joint"});
        axes.material.depthTest = false;
        axes.renderOrder = 10;
        node.add(axes);
      }
      axes.visible = this.on.frames;
    }
  }

  project(node) {
    const at = node.getWorldPosition(new MeshCat.THREE.Vector3()).project(this.viewer.camera);
    const {clientWidth, clientHeight} = el("pane");
    return [(at.x + 1) / 2 * clientWidth, (1 - at.y) / 2 * clientHeight, at.z < 1];
  }

  place_labels() {
    if (!this.on.labels && !this.on.mass && !this.chosen) return;
    const named = this.on.labels ? Object.values(this.about.contacts ?? {}) : [];
    const body = this.chosen ? [{words: this.about.bodies[this.chosen], colour: "#4f6df5", path: this.chosen}] : [];
    const mass = this.on.mass ? [{words: "centre of mass", colour: "#101828", at: this.node("world").getObjectByName("centre of mass")}] : [];
    const spans = [...named, ...body, ...mass].map(({words, colour, path, at = this.node(path)}) => {
      const [x, y, before] = this.project(at), span = document.createElement("span");
      Object.assign(span, {textContent: words, hidden: !before});
      Object.assign(span.style, {left: `${x}px`, top: `${y}px`, borderColor: colour});
      return span;
    });
    el("labels").replaceChildren(...spans);
  }

  // --- picking ------------------------------------------------------------------------------------
  listen() {
    let down = null;
    const pane = el("scene");
    pane.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; });
    pane.addEventListener("pointerup", (event) => {
      if (!down || event.button !== 0 || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > CLICK) return;
      this.choose(this.hit(event)?.body ?? null);
    });
  }

  ray(event) {
    const {left, top, width, height} = el("pane").getBoundingClientRect(), caster = new MeshCat.THREE.Raycaster();
    caster.setFromCamera(
      {x: 2 * (event.clientX - left) / width - 1, y: 1 - 2 * (event.clientY - top) / height}, this.viewer.camera);
    return caster.ray.direction.lengthSq() ? caster : null;
  }

  // The body that is under the pointer: {body: path of what is drawn, point, caster}.
  hit(event) {
    const caster = this.ray(event);
    for (const {object, point} of caster.intersectObject(this.node("world/robot"), true)) {
      const names = [];
      let seen = true;
      for (let node = object; node && node.name !== "world"; node = node.parent) {
        seen &&= node.visible;
        names.unshift(node.name);
      }
      const path = `/world/${names.filter((name) => name && name !== "<object>").join("/")}`;
      const body = Object.keys(this.about.bodies ?? {}).find((known) => path.startsWith(known));
      if (seen && body) return {body, point, caster};
    }
    return null;
  }

  choose(body) {
    this.chosen = body;
    el("picked").hidden = !body;
    if (!body && !this.on.labels && !this.on.mass) el("labels").replaceChildren();
    this.tell_chosen();
    this.viewer.set_dirty();
  }

  // Name, place, and the contacts of the body that was clicked, as they are now.
  tell_chosen() {
    if (!this.chosen) return;
    const {THREE} = MeshCat, joint = this.about.joints[this.chosen], node = this.node(joint);
    const turn = new THREE.Euler().setFromQuaternion(node.quaternion, "ZYX"), degrees = (x) => (x * 180 / Math.PI).toFixed(1);
    const rows = [["place [m]", node.position.toArray().map((x) => x.toFixed(4)).join(", ")],
      ["roll, pitch, yaw [°]", [turn.x, turn.y, turn.z].map(degrees).join(", ")]];
    for (const [name, {words, path, joint: own}] of Object.entries(this.about.contacts))
      if (own === joint) rows.push([words, this.contact_now(name, path)]);
    const table = document.createElement("table"), title = document.createElement("b"), close = document.createElement("button");
    for (const [left, right] of rows) {
      const row = table.insertRow();
      row.insertCell().textContent = left;
      row.insertCell().textContent = right;
    }
    title.textContent = this.about.bodies[this.chosen];
    Object.assign(close, {textContent: "×", ariaLabel: "close", onclick: () => this.choose(null)});
    el("picked").replaceChildren(title, close, table);
  }

  contact_now(name, path) {
    const mode = ["open", "stick", "slip"].find((one) => this.node(`${path}/${one}`).visible) ?? "";
    const arrow = path.replace("/contacts/", "/forces/");
    if (this.newton === null || !this.node(arrow).visible) return mode;
    return `${mode}, ${(this.node(`${arrow}/shaft`).scale.z * this.newton).toPrecision(4)} N`;
  }

  picture() {
    this.viewer.render();
    return this.viewer.renderer.domElement.toDataURL("image/png");
  }
}
