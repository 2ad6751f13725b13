/**
 * The RFC 8785 (JCS) form of a JSON value. Total: a text with half of a surrogate pair, for which the standard has no form,
 * is escaped as `JSON.stringify` does it. A member without a value is left out. The audit has its own code for this, so that
 * a fault of the server's cannot hide itself.
 */
export function canonicalForm(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (value === undefined) return 'null';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
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
  // The standard sorts by UTF-16 units, and so does `sort`. One text that grows: a list of parts costs half as much again.
  for (const name of sorted(Object.keys(members))) {
    const member = members[name];
    if (member === undefined) continue;
    written += `${written === '' ? '' : ','}${quotedName(name)}:${canonicalForm(member)}`;
  }
  return `{${written}}`;
}

/** Most objects of a log have few members, which are often in their order: to look costs less than to sort. */
function sorted(names: string[]): string[] {
  for (let at = 1; at < names.length; at += 1) if ((names[at - 1] ?? '') > (names[at] ?? '')) return names.sort();
  return names;
}

/** A text that JSON writes as it is, between quotes. */
const plain = /^[ !#-[\]-~]*$/;
const plainMax = 128;

function quoted(text: string): string {
  return text.length <= plainMax && plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** The names of a log's members are few. Attack: a log with other names in each event fills the memory. */
const namesMax = 1024;
const names = new Map<string, string>();

function quotedName(name: string): string {
  const known = names.get(name);
  if (known !== undefined) return known;
  const made = quoted(name);
  if (names.size < namesMax) names.set(name, made);
  return made;
}
