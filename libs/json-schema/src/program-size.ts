import { tokenAt } from './pattern-text.js';

const quantifier = /\{(\d+)(?:(,)(\d*))?\}|[*+?]/y;

/**
 * About how many instructions a pattern has when it is compiled. Attack: counted repetitions of one another, which take a
 * second to compile before their size is known.
 */
export function estimatedProgram(pattern: string): number {
  const sizes = createSizes();
  let inClass = false;
  for (let at = 0; at < pattern.length;) {
    quantifier.lastIndex = at;
    const repeated: RegExpExecArray | null = inClass ? null : quantifier.exec(pattern);
    const token: string = repeated?.[0] ?? tokenAt(pattern, at);
    at += token.length;
    if (inClass) inClass = token !== ']';
    else if (repeated !== null) sizes.repeat(timesOf(repeated));
    else {
      inClass = token.startsWith('[');
      sizes.add(token);
    }
  }
  return sizes.sum();
}

/** The sizes of the groups that are open, the innermost last. */
function createSizes() {
  const open: number[] = [0];
  let latest = 0;
  const put = (size: number): void => {
    latest = size;
    open.push((open.pop() ?? 0) + size);
  };
  return {
    repeat: (times: number) => {
      put(latest * (times - 1) + 1);
    },
    add: (token: string) => {
      if (token === '(') open.push(0);
      else put(token === ')' && open.length > 1 ? (open.pop() ?? 0) + 2 : 1);
    },
    sum: () => open.reduce((sum, size) => sum + size, 0),
  };
}

function timesOf([, min, comma, max = '']: RegExpExecArray): number {
  if (min === undefined) return 1;
  return Math.max(1, Number(comma === undefined || max === '' ? min : max));
}
