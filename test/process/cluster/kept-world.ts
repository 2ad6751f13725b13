import { temporaryFolder } from '../harness/cleanup.js';
import { openKeeper } from './keeper-process.js';
import type { KeeperProcess, Settings } from './keeper-process.js';
import { openStoreServer, storeUrl } from './roles.js';
import { openGateways } from './secrets.js';
import type { World } from './secrets.js';

/** A keeper, and two gateways that share no folder with it or with each other. */
export type KeptWorld = World & Pick<KeeperProcess, 'keeper' | 'startKeeper' | 'keysFolder' | 'borrowing'>;

/** Starts them. `ofA`, `ofKeeper`: further settings of the first gateway, and of the first keeper. */
export async function openKept({
  ofA = {},
  ofKeeper = {},
}: { readonly ofA?: Settings; readonly ofKeeper?: Settings } = {}): Promise<KeptWorld> {
  const storeFolder = temporaryFolder();
  const { port } = await openStoreServer(undefined, storeFolder);
  const { folders, ...kept } = await openKeeper(storeUrl(port), { more: ofKeeper });
  return { ...(await openGateways(storeUrl(port), kept.borrowing, [storeFolder, ...folders], ofA)), ...kept };
}
