/**
 * The RFC 8785 (JCS) form of a JSON value. Total: a text with half of a surrogate pair, for which the standard has no form,
 * is escaped as `JSON.stringify` does it. A member without a value is left out. The audit has its own code for this, so that
 * a fault of the server's cannot hide itself.
 */
export function canonicalForm(value: unknown): string {
  if (value === undefined) return 'null';
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalForm).join(',')}]`;
  const members = value as Readonly<Record<string, unknown>>;
  let written = '';
  // The standard sorts by UTF-16 units, and so does `sort`. One text that grows: a list of parts costs half as much again.
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member === undefined) continue;
    written += `${written === '' ? '' : ','}${JSON.stringify(name)}:${canonicalForm(member)}`;
  }
  return `{${written}}`;
}
