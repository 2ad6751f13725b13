import { readConfiguredParts } from '@countersign/gateway';
import type { ConfiguredFiles, FileTokens } from '@countersign/gateway';
import { isStoreOutage } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { makeFolderOf } from '@countersign/runtime';
import { digestOfFile, digestOfReceiptKeys, noteStart, openSystemLog, recordConfiguration } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';
import type { ClusterReceipts } from './receipts.js';
import { untilDone } from './role-process.js';
import type { RoleProcess } from './role-process.js';

/** The configuration of a role that the log of record names. */
export interface RecordedRole extends Pick<ConfiguredFiles, 'channels' | 'tools'> {
  /** Absent: the role needs no tokens. */
  readonly tokens?: FileTokens | undefined;
  /** Its keys of receipts; null: it has none. Absent: the role needs none. */
  readonly receipts?: ClusterReceipts | null;
  /** Configuration files of this role alone, by what they configure; null: there is none. */
  readonly ownFiles?: Readonly<Record<string, string | null>>;
}

/**
 * Opens the log of record of a role, and records how its configuration differs from what this process recorded last. No
 * token counts before that.
 */
export async function openRecord(
  process: RoleProcess,
  store: EventStore,
  { tokens, channels, tools, receipts, ownFiles }: RecordedRole = {},
): Promise<SystemLog> {
  const { config, clock, ids, log, onStop } = process;
  const { role, dataFolder: folder, tokensFile, policyFile, channelsFile, toolsFile, oidc } = config;
  makeFolderOf('COUNTERSIGN_DATA', folder);
  const system = openSystemLog({ store, folder, clock, ids, log });
  onStop(system.close);
  if (tokens !== undefined) process.followed({ name: 'tokens', isCurrent: tokens.isCurrent });
  await untilDone(process, 'record', isStoreOutage, async () => {
    await tokens?.recordIn(system, clock);
    const files = { channelsFile, channels, toolsFile, oidc, ...(tools && { tools }) };
    await recordConfiguration(system, readConfiguredParts(system, files));
    await receipts?.recordIn(system);
    const named = { tokens: tokensFile, policy: policyFile, channels: channelsFile, tools: toolsFile, ...ownFiles };
    const digests = Object.entries(named).map(([name, file]) => [name, digestOfFile(file)] as const);
    const ofReceipts = receipts === undefined ? {} : { receipts: digestOfReceiptKeys(receipts?.keys()) };
    const isJudgedBy = role === 'ledger' || role === 'notifier';
    await noteStart(system, { role, files: { ...Object.fromEntries(digests), ...ofReceipts }, isJudgedBy });
  });
  return system;
}
