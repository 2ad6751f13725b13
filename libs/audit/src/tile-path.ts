import { tileWidth } from './tiles.js';

/** A tile by its name in C2SP's tlog-tiles. */
export interface TileName {
  /** From 0, the level of the leaves; `entries`: the entries of the leaves. */
  readonly level: number | 'entries';
  readonly index: number;
  /** How many hashes or entries it has: 256, or fewer for a tile that is not full. */
  readonly width: number;
}

const form = /^tile\/(entries|[0-9]|[1-5][0-9]|6[0-3])\/((?:x[0-9]{3}\/){0,4}[0-9]{3})(?:\.p\/([1-9][0-9]{0,2}))?$/;

/** Reads `tile/<L>/<N>[.p/<W>]` or `tile/entries/<N>[.p/<W>]`. Undefined for any other text, and for another form of the same name. */
export function parseTilePath(path: string): TileName | undefined {
  const [, levelText, groups, widthText] = form.exec(path) ?? [];
  if (levelText === undefined || groups === undefined) return undefined;
  const level: TileName['level'] = levelText === 'entries' ? levelText : Number(levelText);
  const index = Number(groups.replaceAll(/[x/]/g, ''));
  const width = widthText === undefined ? tileWidth : Number(widthText);
  if (widthText !== undefined && width >= tileWidth) return undefined;
  const name = { level, index, width };
  return formatTilePath(name) === path ? name : undefined;
}

/** The path of a tile. */
export function formatTilePath({ level, index, width }: TileName): string {
  const part = width === tileWidth ? '' : `.p/${String(width)}`;
  return `tile/${String(level)}/${groupsOf(index)}${part}`;
}

/** Groups of three digits; all but the last begin with an x. */
function groupsOf(index: number): string {
  const digits = String(index);
  const padded = digits.padStart(Math.ceil(digits.length / 3) * 3, '0');
  const groups = padded.match(/[0-9]{3}/g) ?? [];
  return groups.map((group, at) => (at === groups.length - 1 ? group : `x${group}`)).join('/');
}

/** How many hashes of a tile are there in a tree of `size` leaves: from 0 to 256. */
export function widthAt(size: number, level: number, index: number): number {
  const count = Math.floor(size / tileWidth ** level);
  return Math.min(Math.max(count - index * tileWidth, 0), tileWidth);
}

const lengthBytes = 2;

/** A tile of entries: each one after its length in 2 bytes, big-endian. @throws RangeError for an entry of more than 65,535 bytes */
export function formatEntries(entries: readonly string[]): Uint8Array {
  // A UTF-16 unit takes at most three bytes.
  const most = entries.reduce((sum, entry) => sum + lengthBytes + entry.length * 3, 0);
  const tile = Buffer.allocUnsafe(most);
  let at = 0;
  for (const entry of entries) {
    const bytes = tile.write(entry, at + lengthBytes);
    tile.writeUInt16BE(bytes, at);
    at += lengthBytes + bytes;
  }
  return tile.subarray(0, at);
}

/** Reads a tile of entries. Undefined for bytes that are none. */
export function parseEntries(tile: Uint8Array): readonly Uint8Array[] | undefined {
  const bytes = Buffer.from(tile.buffer, tile.byteOffset, tile.byteLength);
  const entries: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + lengthBytes > bytes.length) return undefined;
    const end = at + lengthBytes + bytes.readUInt16BE(at);
    if (end > bytes.length) return undefined;
    entries.push(bytes.subarray(at + lengthBytes, end));
    at = end;
  }
  return entries;
}
