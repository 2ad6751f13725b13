import { randomBytes, randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers';
import { crashPoint } from '@countersign/runtime';

const keyBytes = 32;

/** A new key before it is saved. */
export interface MadeKey {
  readonly id: string;
  readonly subject: string;
  readonly bytes: Uint8Array;
}

/** Makes keys. Those that are needed in one turn of the event loop are saved together, so they share a flush. */
export function createKeyMaker(save: (made: readonly MadeKey[]) => void): (subject: string) => Promise<void> {
  let waiting: { readonly made: MadeKey; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] =
    [];
  const flush = (): void => {
    const group = waiting;
    waiting = [];
    try {
      crashPoint('keys.before-commit');
      save(group.map(({ made }) => made));
      crashPoint('keys.after-commit');
    } catch (error) {
      for (const { reject } of group) reject(error);
      return;
    }
    for (const { resolve } of group) resolve();
  };
  return async (subject) => {
    const made = { id: randomUUID(), subject, bytes: randomBytes(keyBytes) };
    await new Promise<void>((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush);
      waiting.push({ made, resolve, reject });
    });
  };
}
