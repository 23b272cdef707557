// What the offline page and the live page share.
// Collada files bring display colours; the page lights in linear light.
const convert_colours = (root) => root.traverse((node) => {
  for (const material of [node.material].flat()) {
    if (!material || !(material.isMeshPhongMaterial || material.isMeshLambertMaterial)) continue;
    material.color.convertSRGBToLinear();
    if (material.specular) material.specular.multiplyScalar(0.2);
    if (material.map) material.map.encoding = MeshCat.THREE.sRGBEncoding;
  }
});
