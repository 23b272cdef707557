// How well the picture is drawn: less while drawing takes too long, more again where there is time, all of it at rest.
const QUALITY = [
  {ratio: 1.0, shadow: 4096, plain: false}, {ratio: 1.0, shadow: 2048, plain: false},
  {ratio: 1.0, shadow: 1024, plain: false}, {ratio: 1.0, shadow: 512, plain: true},
  {ratio: 0.8, shadow: 0, plain: true}, {ratio: 0.65, shadow: 0, plain: true}, {ratio: 0.5, shadow: 0, plain: true}];
const BUDGET = 0.024;  // s that a picture may take while something moves
const CALM = 0.35;  // of that, below which the next better one may take its place
const LOOKS = 0.4, PATIENCE = 2.0, LONGEST = 60.0;  // s between two looks; of calm, and at most, before the picture is made better
const REST = 0.4, RESTFUL = 1.0;  // s without motion; s that a picture at rest may take

const renderer_of = (context) => {
  const info = context?.getExtension("WEBGL_debug_renderer_info");
  return info ? context.getParameter(info.UNMASKED_RENDERER_WEBGL) : "";
};
const by_processor = () =>
  /swiftshader|llvmpipe|software/i.test(renderer_of(document.createElement("canvas").getContext("webgl")));

// Plain paint in the place of a satin one: half the work for a processor.
const plain_paint = (material) => {
  if (!material.isMeshStandardMaterial) return material;
  const {color, emissive, emissiveIntensity, opacity, transparent, side, depthWrite, depthTest} = material;
  const glow = emissive.getHex() ? {emissive, emissiveIntensity} : {emissive: color, emissiveIntensity: 0.3};
  return new MeshCat.THREE.MeshLambertMaterial(
    {color, ...glow, opacity, transparent, side, depthWrite, depthTest});
};

class Quality {
  // A `still` picture is as good as can be; one of many for a `film` a little less where the processor draws it.
  constructor(viewer, slow, still, film = false) {
    Object.assign(this, {viewer, still, best: slow ? 2 : 0, level: slow ? 3 : 0, resting: false, cost: 0, steps: 0});
    Object.assign(this, {looked: 0, calm: 0, wait: PATIENCE, raised: -Infinity, moved: performance.now() / 1000, young: 5});
    this.rest = slow ? 1 : 0;
    if (still) this.level = this.rest = this.best = film && slow ? 2 : 0;
  }

  get shown() { return this.resting ? this.rest : this.level; }

  apply() {
    const {ratio, shadow, plain} = QUALITY[this.shown], {renderer} = this.viewer;
    const sun = this.viewer.scene_tree.find(["Lights", "sun", "<object>"]).object;
    renderer.shadowMap.type = MeshCat.THREE.PCFSoftShadowMap;
    renderer.shadowMap.enabled = shadow > 0;
    if (sun.isLight) {
      sun.castShadow = shadow > 0;
      if (shadow > 0 && sun.shadow.mapSize.x !== shadow) {
        sun.shadow.mapSize.set(shadow, shadow);
        sun.shadow.map?.dispose();
        sun.shadow.map = null;
      }
    }
    this.paint(plain, shadow === 0);
    renderer.setPixelRatio(ratio * devicePixelRatio);
    this.viewer.set_3d_pane_size();
  }

  // Materials of their own for a plain picture; the rich ones are kept, and come back.
  paint(plain, shadowless) {
    this.viewer.scene.traverse((node) => {
      const held = node.material;
      if (!held || Array.isArray(held)) return;
      if (held.isShadowMaterial) held.visible = !shadowless;
      if (!node.isMesh || !(held.isMeshStandardMaterial || node.userData.rich)) return;
      if (!node.userData.rich || (node.userData.rich !== held && node.userData.plain !== held))
        Object.assign(node.userData, {rich: held, plain: plain_paint(held)});
      node.material = plain ? node.userData.plain : node.userData.rich;
    });
  }

  change(level) {
    if (level === this.level && !this.resting) return;
    this.level = level;
    this.resting = false;
    this.steps += 1;
    this.calm = 0;
    this.young = 3;
    this.apply();
  }

  // Seconds that a picture takes, waited for until it is there.
  measure(render) {
    const began = performance.now(), context = this.viewer.renderer.getContext();
    render();
    context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, new Uint8Array(4));
    return (performance.now() - began) / 1000;
  }

  // Draws a picture, by `render`, of something that moves.
  draw(render, moving) {
    const now = performance.now() / 1000;
    if (this.still || !moving) return render();
    this.moved = now;
    if (this.resting) { this.resting = false; this.apply(); }
    if (this.young <= 0 && now - this.looked < LOOKS) return render();
    this.young -= 1;
    this.looked = now;
    this.cost = this.measure(render);
    this.judge(now);
  }

  judge(now) {
    if (this.young > 1) return;  // the first ones wait for shaders to be compiled
    if (this.cost > BUDGET) {
      if (this.level === QUALITY.length - 1) return;
      if (now - this.raised < 5) this.wait = Math.min(2 * this.wait, LONGEST);
      this.change(this.level + (this.cost > 3 * BUDGET && this.level < QUALITY.length - 2 ? 2 : 1));
    } else if (this.cost > CALM * BUDGET || this.level <= this.best) this.calm = 0;
    else if (!this.calm) this.calm = now;
    else if (now - this.calm > this.wait) {
      this.raised = now;
      this.change(this.level - 1);
    }
  }

  // Called now and then: what stands still is drawn as well as can be.
  settle() {
    if (this.still || this.resting || performance.now() / 1000 - this.moved < REST) return;
    this.resting = true;
    this.apply();
    const took = this.measure(() => this.viewer.render());
    if (took > RESTFUL && this.rest < this.level) this.rest += 1;
  }
}
