/** One line of a diff: kept, removed, added, or (`@`) a line outside the hunks, such as the header of one. */
export interface DiffLine {
  readonly kind: ' ' | '-' | '+' | '@';
  readonly text: string;
  /** What stands for blank lines: `300 empty lines`, `2 spaces`. */
  readonly blank?: string;
}

const contextLines = 3;
const editsMax = 500;

/**
 * The unified diff of two texts as lines, with three lines of context; empty when they are equal. Beyond 500 edits
 * the differing middle is shown as removed and added whole: still true, only longer.
 */
export function lineDiff(before: string, after: string): DiffLine[] {
  if (before === after) return [];
  return toHunks(edits(before.split('\n'), after.split('\n')));
}

/** Both texts whole as one diff: every kept line, every removed one and every added one. */
export function wholeDiff(before: string, after: string): DiffLine[] {
  return edits(before.split('\n'), after.split('\n'));
}

function edits(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let beforeEnd = before.length;
  let afterEnd = after.length;
  while (beforeEnd > start && afterEnd > start && before[beforeEnd - 1] === after[afterEnd - 1]) {
    beforeEnd -= 1;
    afterEnd -= 1;
  }
  const kept = (lines: readonly string[]) => lines.map((text): DiffLine => ({ kind: ' ', text }));
  return [
    ...kept(before.slice(0, start)),
    ...middle(before.slice(start, beforeEnd), after.slice(start, afterEnd)),
    ...kept(before.slice(beforeEnd)),
  ];
}

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const trace = before.length === 0 || after.length === 0 ? undefined : shortestEdit(before, after);
  if (trace !== undefined) return walkBack(before, after, trace);
  return [
    ...before.map((text): DiffLine => ({ kind: '-', text })),
    ...after.map((text): DiffLine => ({ kind: '+', text })),
  ];
}

type Frontier = ReadonlyMap<number, number>;

/** Myers' greedy search (1986): how far each diagonal is reached with d edits, for each d until the end is reached. */
function shortestEdit(before: readonly string[], after: readonly string[]): Frontier[] | undefined {
  const reached = new Map<number, number>([[1, 0]]);
  const trace: Frontier[] = [];
  for (let d = 0; d <= Math.min(editsMax, before.length + after.length); d += 1) {
    trace.push(new Map(reached));
    for (let k = -d; k <= d; k += 2) {
      let x = goesDown(reached, k, d) ? far(reached, k + 1) : far(reached, k - 1) + 1;
      while (x < before.length && x - k < after.length && before[x] === after[x - k]) x += 1;
      reached.set(k, x);
      if (x >= before.length && x - k >= after.length) return trace;
    }
  }
  return undefined;
}

function far(reached: Frontier, k: number): number {
  return reached.get(k) ?? -1;
}

function goesDown(reached: Frontier, k: number, d: number): boolean {
  return k === -d || (k !== d && far(reached, k - 1) < far(reached, k + 1));
}

/** From the end to the start: each step is one edit after a run of kept lines. */
function walkBack(before: readonly string[], after: readonly string[], trace: readonly Frontier[]): DiffLine[] {
  const lines: DiffLine[] = [];
  const at = { x: before.length, y: after.length };
  const keepDownTo = (x: number, y: number): void => {
    while (at.x > Math.max(0, x) && at.y > Math.max(0, y)) {
      at.x -= 1;
      at.y -= 1;
      lines.push({ kind: ' ', text: before[at.x] ?? '' });
    }
  };
  for (let d = trace.length - 1; d > 0; d -= 1) {
    const reached = trace[d] ?? new Map<number, number>();
    const k = at.x - at.y;
    const isAddition = goesDown(reached, k, d);
    const previousK = isAddition ? k + 1 : k - 1;
    const x = far(reached, previousK);
    const y = x - previousK;
    keepDownTo(isAddition ? x : x + 1, isAddition ? y + 1 : y);
    lines.push(isAddition ? { kind: '+', text: after[y] ?? '' } : { kind: '-', text: before[x] ?? '' });
    at.x = x;
    at.y = y;
  }
  keepDownTo(0, 0);
  return lines.reverse();
}

function toHunks(lines: readonly DiffLine[]): DiffLine[] {
  const near = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.kind !== ' ') near.fill(true, Math.max(0, index - contextLines), index + contextLines + 1);
  });
  const out: DiffLine[] = [];
  let beforeLine = 1;
  let afterLine = 1;
  let skipped = true;
  lines.forEach((line, index) => {
    if (near[index] === true) {
      if (skipped) out.push({ kind: '@', text: `@@ -${String(beforeLine)} +${String(afterLine)} @@` });
      out.push(line);
    }
    skipped = near[index] !== true;
    if (line.kind !== '+') beforeLine += 1;
    if (line.kind !== '-') afterLine += 1;
  });
  return out;
}
