// Areas in proportion to numbers, as near to squares as they can be (Bruls, Huizing, van Wijk: squarified treemaps).

/**
 * Places for values in a box: [{left, top, width, height}], in the order of the values, which are positive and fall.
 * The same values always get the same places.
 */
export function squarified(values, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0);
  const areas = values.map((value) => (value / total) * width * height);
  const places = [];
  let box = { left: 0, top: 0, width, height };
  for (let first = 0; first < areas.length; ) {
    const side = Math.min(box.width, box.height);
    let last = first + 1;
    while (last < areas.length && worst(areas.slice(first, last + 1), side) <= worst(areas.slice(first, last), side)) {
      last += 1;
    }
    const row = areas.slice(first, last);
    const thickness = sum(row) / side;
    let offset = 0;
    for (const area of row) {
      const length = area / thickness;
      places.push(
        box.width >= box.height
          ? { left: box.left, top: box.top + offset, width: thickness, height: length }
          : { left: box.left + offset, top: box.top, width: length, height: thickness },
      );
      offset += length;
    }
    box =
      box.width >= box.height
        ? { ...box, left: box.left + thickness, width: box.width - thickness }
        : { ...box, top: box.top + thickness, height: box.height - thickness };
    first = last;
  }
  return places;
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function worst(row, side) {
  const total = sum(row);
  const thickness = total / side;
  return Math.max(...row.map((area) => Math.max(thickness / (area / thickness), area / thickness / thickness)));
}
