/** A public key in the form of RFC 7517. */
type Jwk =
  | { readonly kty: 'EC'; readonly crv: 'P-256'; readonly x: string; readonly y: string }
  | { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string }
  | { readonly kty: 'RSA'; readonly n: string; readonly e: string };

type Value = number | Buffer;

/** Labels of RFC 9052 and 9053: the kind of key, its algorithm, and the parameters of the kind. */
const [ktyLabel, algLabel] = [1, 3];

/**
 * Reads a COSE key of ES256, EdDSA (Ed25519) or RS256; undefined: the bytes are none of them. A map of integers to integers and
 * byte strings is all of CBOR that such a key has.
 */
export function coseKey(bytes: Buffer): Jwk | undefined {
  const members = readMap(bytes);
  const kind = `${String(members?.get(ktyLabel))} ${String(members?.get(algLabel))}`;
  const number = (label: number): number | undefined => {
    const value = members?.get(label);
    return typeof value === 'number' ? value : undefined;
  };
  const text = (label: number): string => {
    const value = members?.get(label);
    return Buffer.isBuffer(value) ? value.toString('base64url') : '';
  };
  switch (kind) {
    case '2 -7':
      return number(-1) === 1 ? { kty: 'EC', crv: 'P-256', x: text(-2), y: text(-3) } : undefined;
    case '1 -8':
      return number(-1) === 6 ? { kty: 'OKP', crv: 'Ed25519', x: text(-2) } : undefined;
    case '3 -257':
      return { kty: 'RSA', n: text(-1), e: text(-2) };
    default:
      return undefined;
  }
}

/** A place in the bytes. */
interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

type Item = readonly [kind: number, value: number];

/** Undefined: the bytes are not one map, or there are more of them. */
function readMap(bytes: Buffer): ReadonlyMap<number, Value> | undefined {
  const cursor: Cursor = { bytes, at: 0 };
  const [kind, count] = readItem(cursor) ?? [];
  if (kind !== 5 || count === undefined) return undefined;
  const members = new Map<number, Value>();
  for (let left = count; left > 0; left -= 1) {
    const name = readItem(cursor);
    const label = name && integer(name);
    const value = readValue(cursor);
    if (label === undefined || value === undefined || members.has(label)) return undefined;
    members.set(label, value);
  }
  return cursor.at === bytes.length ? members : undefined;
}

/** The kind of the next item, and its value or its length. */
function readItem(cursor: Cursor): Item | undefined {
  const { bytes, at } = cursor;
  const first = bytes.at(at) ?? 0;
  const short = first & 31;
  const size = Math.max(0, short - 23);
  if (at + 1 + size > bytes.length || size > 2) return undefined;
  cursor.at += 1 + size;
  return [first >> 5, size === 0 ? short : bytes.readUIntBE(at + 1, size)];
}

function readValue(cursor: Cursor): Value | undefined {
  const item = readItem(cursor);
  if (item === undefined) return undefined;
  const [kind, size] = item;
  if (kind !== 2) return integer(item);
  const { bytes, at } = cursor;
  cursor.at += size;
  return cursor.at <= bytes.length ? bytes.subarray(at, cursor.at) : undefined;
}

function integer([kind, value]: Item): number | undefined {
  if (kind === 0) return value;
  return kind === 1 ? -1 - value : undefined;
}
