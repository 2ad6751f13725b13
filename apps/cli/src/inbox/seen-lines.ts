/** The lines of a card that a frame showed: from the first one up to, but without, `to`. */
export interface ShownLines {
  readonly from: number;
  readonly to: number;
  /** So many lines a person has to see before they agree. */
  readonly needed: number;
  /** The width they were wrapped at: with another one they are other lines. */
  readonly columns: number;
}

/** The lines of one card or form that were on the screen, in any frame. */
export interface SeenLines {
  readonly of: string;
  readonly parts: readonly Part[];
}

type Part = Pick<ShownLines, 'from' | 'to'>;

/** The lines that were seen, with those of one more frame. Those of another card, or wrapped otherwise, are forgotten. */
export function withShown(seen: SeenLines | undefined, subject: string, shown: ShownLines): SeenLines {
  const of = nameOf(subject, shown);
  const apart: Part[] = [];
  let { from, to } = shown;
  for (const part of seen?.of === of ? seen.parts : []) {
    if (part.from > to || from > part.to) apart.push(part);
    else [from, to] = [Math.min(part.from, from), Math.max(part.to, to)];
  }
  return { of, parts: [...apart, { from, to }] };
}

/** The first lines that were not on the screen yet; undefined: all that a person has to see were. */
export function firstUnseen(seen: SeenLines | undefined, subject: string, shown: ShownLines): Part | undefined {
  const parts = seen?.of === nameOf(subject, shown) ? seen.parts.toSorted((a, b) => a.from - b.from) : [];
  const from = parts[0]?.from === 0 ? parts[0].to : 0;
  if (from >= shown.needed) return undefined;
  const after = parts.find((part) => part.from > from)?.from ?? shown.needed;
  return { from, to: Math.min(after, shown.needed) };
}

function nameOf(subject: string, { needed, columns }: ShownLines): string {
  return [subject, needed, columns].join(' ');
}
