/** A rectangle within a part of a card, in whole CSS pixels from the upper left corner of the part. */
export interface Area {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** What two areas have in common; undefined: nothing. */
export function overlap(one: Area, other: Area): Area | undefined {
  const left = Math.max(one.left, other.left);
  const top = Math.max(one.top, other.top);
  const right = Math.min(one.right, other.right);
  const bottom = Math.min(one.bottom, other.bottom);
  return left < right && top < bottom ? { left, top, right, bottom } : undefined;
}

/** Returns the areas and one more. Areas of the same columns that meet become one. */
export function withArea(areas: readonly Area[], area: Area): readonly Area[] {
  const apart: Area[] = [];
  let { top, bottom } = area;
  for (const other of areas) {
    const isBeside = other.left !== area.left || other.right !== area.right;
    if (isBeside || other.top > bottom || top > other.bottom) apart.push(other);
    else [top, bottom] = [Math.min(other.top, top), Math.max(other.bottom, bottom)];
  }
  return [...apart, { ...area, top, bottom }];
}

/** A browser rounds. */
const slack = 2;

/** The uppermost place of a part that no area covers; undefined: all of it is covered. */
export function firstGap(
  areas: readonly Area[],
  { width, height }: { readonly width: number; readonly height: number },
): Pick<Area, 'left' | 'top'> | undefined {
  const edges = [0, width, ...areas.flatMap(({ left, right }) => [left, right])].sort((a, b) => a - b);
  const tops = edges.flatMap((left, nth) => {
    const right = edges[nth + 1] ?? left;
    if (right <= left + slack) return [];
    return { left, top: coveredTo(areas.filter((area) => area.left <= left && area.right >= right)) };
  });
  return tops.filter(({ top }) => top < height - slack).sort((a, b) => a.top - b.top)[0];
}

/** How far down areas of the same columns cover without a gap. */
function coveredTo(areas: readonly Area[]): number {
  return areas
    .toSorted((a, b) => a.top - b.top)
    .reduce((bottom, area) => (area.top > bottom + slack ? bottom : Math.max(bottom, area.bottom)), 0);
}
