import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claim, reportExecution, requestToolCalls } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { EraseSubject, ErasuresQuery, ErasureView, RequestedCall } from '@countersign/contracts';
import { deriveCallId } from '@countersign/contracts';
import { createIdempotencyStore } from '@countersign/gateway';
import { toToolCallView } from '@countersign/read-model';
import { createSystemIds } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, beforeEach } from '@jest/globals';
import { readStandaloneConfig } from '../config.js';
import { openErasures } from '../open-erasures.js';
import { openStores } from '../open-stores.js';
import type { Stores } from '../open-stores.js';

export const actor: Actor = {
  tenant: 'default',
  principal: 'me',
  roles: new Set(['agent', 'resolver', 'admin']),
  groups: [],
  agentIds: ['*'],
  via: 'api',
  assurance: 'high',
};
export const subject = 'customer-42';
export const secret = 'hunter2-is-secret';

export const callIdOf = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);

/** A request for a call of the subject with a secret in it. */
export const callOf = (toolCallId: string, change: Partial<RequestedCall> = {}): RequestedCall => ({
  ...{ toolCallId, toolName: 'pay', arguments: { password: secret }, labels: { subject } },
  ...change,
});

/** The ledger in a folder of its own, for each test of a file. */
export function prepareErasing() {
  let folder = '';
  let stores: Stores;
  const clock = createVirtualClock();
  const ids = createSystemIds();
  const log = createCollectingLog();
  const world = { clock, ids, log };
  const open = async (env: Record<string, string> = {}): Promise<Stores> =>
    (stores = await openStores(readStandaloneConfig({ COUNTERSIGN_DATA: folder, ...env }), world));
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-erasures-'));
    await open();
  });
  afterEach(async () => {
    await stores.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const request = (toolCallId: string, change: Partial<RequestedCall> = {}, as = actor) =>
    requestToolCalls(stores.commands, as, { runId: 'run-1', calls: [callOf(toolCallId, change)] }, ids.uuid());
  const claimOf = (toolCallId: string) =>
    claim(stores.commands, actor, callIdOf(toolCallId), { resolverId: 'w' }, ids.uuid());
  const run = async (toolCallId: string, output: object = { token: secret }): Promise<void> => {
    await claimOf(toolCallId);
    const body = { attempt: 1, status: 'succeeded', output } as never;
    await reportExecution(stores.commands, actor, callIdOf(toolCallId), body, ids.uuid());
  };
  const erasures = () => {
    const idempotency = createIdempotencyStore(join(folder, 'idempotency.db'));
    return { ...openErasures(stores, idempotency, world), close: idempotency.close };
  };
  const erase = async (change: Partial<EraseSubject> = {}, as = actor, commandId = ids.uuid()) => {
    const { erase: runErasure, close } = erasures();
    const result = await runErasure(as, { subject, ...change }, commandId).finally(close);
    return result.status === 'refused' ? result.refusal : result.value;
  };
  const preview = (): Promise<ErasureView> => {
    const { preview: look, close } = erasures();
    return look(actor, { subject }).finally(close);
  };
  const past = (query: ErasuresQuery, tenant = 'default') => {
    const { past: look, close } = erasures();
    return look(tenant, query, new AbortController().signal).finally(close);
  };
  const viewOf = (toolCallId: string) => {
    const row = stores.readModel.toolCall('default', callIdOf(toolCallId));
    if (row === undefined) throw new Error(`there is no call ${toolCallId}`);
    return toToolCallView(row, 'whole');
  };
  const filesWith = (text: string | Buffer): string[] =>
    readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text));
  return {
    ...{ clock, ids, log, open, request, claimOf, run, erase, preview, past, viewOf, filesWith },
    folder: () => folder,
    stores: () => stores,
  };
}
