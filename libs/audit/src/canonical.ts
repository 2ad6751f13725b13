/**
 * The RFC 8785 (JCS) form of a JSON value. Total: a text with half of a surrogate pair, for which the standard has no form,
 * is escaped as `JSON.stringify` does it. A member without a value is left out. The audit has its own code for this, so that
 * a fault of the server's cannot hide itself.
 */
export function canonicalForm(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value === undefined || value === null) return 'null';
  // As `JSON.stringify` writes them, at less cost.
  if (typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))) return String(value);
  if (typeof value !== 'object') return JSON.stringify(value);
  return Array.isArray(value) ? listOf(value) : objectOf(value as Readonly<Record<string, unknown>>);
}

function listOf(values: readonly unknown[]): string {
  let written = '';
  // By index: a hole is null, as `JSON.stringify` has it.
  for (let at = 0; at < values.length; at += 1) written += `${at === 0 ? '' : ','}${canonicalForm(values[at])}`;
  return `[${written}]`;
}

function objectOf(members: Readonly<Record<string, unknown>>): string {
  let written = '';
  const order = orderOf(Object.keys(members));
  // One text that grows: a list of parts costs half as much again, and an iterator makes an object for each member.
  for (let at = 0; at < order.length; at += 1) {
    const { name, text } = order[at] as Name;
    const member = members[name];
    if (member !== undefined) written += `${written === '' ? '' : ','}${text}${canonicalForm(member)}`;
  }
  return `{${written}}`;
}

/** A text that JSON writes as it is, between quotes. */
const plain = /^[ !#-[\]-~]*$/;
const plainMax = 128;

function quoted(text: string): string {
  return text.length <= plainMax && plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A member's name, and the text of it with its colon. */
interface Name {
  readonly name: string;
  readonly text: string;
}

/** Objects with these names, one after the other, of which the order of the standard is known. */
interface Shape {
  readonly next: Map<string, Shape>;
  order: readonly Name[] | undefined;
}

/** The objects of a log have few sets of names. Attack: a log with other names in each event, or very long ones, fills the memory. */
const shapesMax = 4096;
const noNames: Shape = { next: new Map(), order: [] };
let shapes = 0;

/** The names of an object in the order of the standard. They are sorted when they are seen for the first time. */
function orderOf(names: readonly string[]): readonly Name[] {
  if (shapes > shapesMax) {
    noNames.next.clear();
    shapes = 0;
  }
  let shape = noNames;
  for (const name of names) {
    if (name.length > plainMax) return sorted(names);
    let next = shape.next.get(name);
    if (next === undefined) {
      next = { next: new Map(), order: undefined };
      shape.next.set(name, next);
      shapes += 1;
    }
    shape = next;
  }
  return (shape.order ??= sorted(names));
}

/** The standard sorts by UTF-16 units, and so does `toSorted`. */
function sorted(names: readonly string[]): readonly Name[] {
  return names.toSorted().map((name) => ({ name, text: `${quoted(name)}:` }));
}
