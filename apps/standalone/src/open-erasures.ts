import { forgetStreams } from '@countersign/commands';
import { createErasures } from '@countersign/gateway';
import type { Erasures, IdempotencyStore } from '@countersign/gateway';
import { crashPoint } from '@countersign/runtime';
import type { RuntimePorts } from '@countersign/shell';
import type { Stores } from './open-stores.js';

/** Erasures of a data folder. This process alone has copies. */
export function openErasures(
  { store, vault, readModel, commands }: Pick<Stores, 'store' | 'vault' | 'readModel' | 'commands'>,
  idempotency: IdempotencyStore,
  { clock, ids, log }: Pick<RuntimePorts, 'clock' | 'ids' | 'log'>,
): Erasures {
  const { keys, requestsKey } = vault;
  const rewriteCopies = async (): Promise<void> => {
    forgetStreams(commands);
    await readModel.rebuild();
    crashPoint('erase.rebuilt');
    idempotency.clear();
    await requestsKey.renew();
  };
  const { raw, settled } = vault.store;
  return createErasures({ keys, store, raw, settled, readModel, commands, rewriteCopies, clock, ids, log });
}
