/** A place outside this installation that keeps checkpoints and tiles. Paths have slashes, such as `acme/1/checkpoint`. */
export interface Sink {
  /** Such as `sinks[0] (folder)`, without an address. */
  readonly name: string;
  /** The bytes of a file; undefined: there is none. */
  readonly read: (path: string) => Promise<Uint8Array | undefined>;
  /** Stores a file that never changes. @throws SinkAlarm when the place has other bytes there, which stay */
  readonly putTile: (path: string, bytes: Uint8Array) => Promise<void>;
  /** Stores the newest checkpoint in the place of the one before. */
  readonly putCheckpoint: (path: string, bytes: Uint8Array) => Promise<void>;
  readonly close: () => void;
}

/** A place has something that this log contradicts. It stays there, as evidence. */
export class SinkAlarm extends Error {
  override readonly name = 'SinkAlarm';
}

/** @throws SinkAlarm when the place has other bytes */
export function expectSame(path: string, found: Uint8Array, bytes: Uint8Array): void {
  if (!Buffer.from(found).equals(bytes)) throw new SinkAlarm(`it has other bytes at ${path}, and they stay there`);
}
