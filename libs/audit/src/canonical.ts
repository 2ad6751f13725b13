/**
 * The RFC 8785 (JCS) form of a JSON value. Total: a text with half of a surrogate pair, for which the standard has no form,
 * is escaped as `JSON.stringify` does it. A member without a value is left out. The audit has its own code for this, so that
 * a fault of the server's cannot hide itself.
 */
export function canonicalForm(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : canonicalBytes(value).toString();
}

/**
 * The UTF-8 bytes of {@link canonicalForm}, until the next call. All values are written in one place, because a text that grows
 * leaves six times its length to the garbage collector.
 */
export function canonicalBytes(value: unknown): Buffer {
  if (bytes.length > keptMax) bytes = Buffer.allocUnsafeSlow(keptMax);
  end = 0;
  put(value);
  return bytes.subarray(0, end);
}

/** The memory that is kept between two values. */
const keptMax = 64 * 1024;
let bytes = Buffer.allocUnsafeSlow(keptMax);
let end = 0;

function put(value: unknown): void {
  if (typeof value === 'string') putText(value);
  else if (typeof value !== 'object' || value === null) putPlain(value === undefined ? 'null' : JSON.stringify(value));
  else if (Array.isArray(value)) putList(value);
  else putObject(value as Readonly<Record<string, unknown>>);
}

function putList(values: readonly unknown[]): void {
  putPlain('[');
  // By index: a hole is null, as `JSON.stringify` has it.
  for (let at = 0; at < values.length; at += 1) {
    if (at > 0) putPlain(',');
    put(values[at]);
  }
  putPlain(']');
}

function putObject(members: Readonly<Record<string, unknown>>): void {
  const order = orderOf(Object.keys(members));
  putPlain('{');
  const first = end;
  // By index: an iterator makes an object for each member.
  for (let at = 0; at < order.length; at += 1) {
    const { name, text, isPlain } = order[at] as Name;
    const member = members[name];
    if (member === undefined) continue;
    if (end > first) putPlain(',');
    if (isPlain) putPlain(text);
    else putWide(text);
    put(member);
  }
  putPlain('}');
}

/** Writes ASCII. */
function putPlain(text: string): void {
  makeRoom(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[end + at] = text.charCodeAt(at);
  end += text.length;
}

function putWide(text: string): void {
  makeRoom(text.length * 3);
  end += bytes.write(text, end);
}

/** Most texts are those that JSON writes as they are, between quotes. */
function putText(text: string): void {
  makeRoom(text.length + 2);
  let to = end;
  bytes[to] = quote;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code > 0x7e || code === quote || code === backslash) {
      putWide(JSON.stringify(text));
      return;
    }
    to += 1;
    bytes[to] = code;
  }
  bytes[to + 1] = quote;
  end = to + 2;
}

const [quote, backslash] = [0x22, 0x5c];

function makeRoom(count: number): void {
  if (end + count <= bytes.length) return;
  const larger = Buffer.allocUnsafeSlow((end + count) * 2);
  bytes.copy(larger, 0, 0, end);
  bytes = larger;
}

/** A member's name, and the text of it with its colon, which is ASCII or not. */
interface Name {
  readonly name: string;
  readonly text: string;
  readonly isPlain: boolean;
}

/** Objects with these names, one after the other, of which the order of the standard is known. */
interface Shape {
  readonly next: Map<string, Shape>;
  order: readonly Name[] | undefined;
}

/** The objects of a log have few sets of names. Attack: a log with other names in each event, or very long ones, fills the memory. */
const shapesMax = 4096;
const nameMax = 128;
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
    if (name.length > nameMax) return sorted(names);
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
  return names.toSorted().map((name) => {
    const text = `${JSON.stringify(name)}:`;
    return { name, text, isPlain: Buffer.byteLength(text) === text.length };
  });
}
