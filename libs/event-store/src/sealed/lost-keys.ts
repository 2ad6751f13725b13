import { join } from 'node:path';
import type { EventStore } from '../event-store.js';

/** The log has sealed values, and the keys in the folder were made just now. */
export class LostKeysError extends Error {
  override readonly name = 'LostKeysError';
}

/** The folder of new keys, and whether the operator has given lost values up. */
export interface NewKeys {
  readonly folder: string;
  readonly acceptLostKeys: boolean;
}

const pageSize = 500;

/** @throws LostKeysError when the log, as it is stored, has encrypted values: new keys open none of them. */
export async function refuseLostKeys(
  raw: Pick<EventStore, 'readAll'>,
  { folder, acceptLostKeys }: NewKeys,
): Promise<void> {
  let position = 0;
  while (!acceptLostKeys) {
    const page = await raw.readAll(position, pageSize);
    if (page.some(({ metadata: { sealed } }) => sealed !== undefined)) {
      throw new LostKeysError(
        `${join(folder, 'keys.db')} is missing, and the log has values that were encrypted with its keys: ` +
          'restore keys.db and the root key from your copy. To give those values up, start once with COUNTERSIGN_ACCEPT_LOST_KEYS=yes',
      );
    }
    const last = page.at(-1);
    if (last === undefined) return;
    position = last.position;
  }
}
