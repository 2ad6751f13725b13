import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { buttonOf, openReach, pressInSlack, telegramPress } from '../../channels/reach.js';
import type { Reach } from '../../channels/reach.js';
import { cleanUpAfterEach } from '../../harness/cleanup.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

const cards = 12;
const runs = Array.from({ length: cards }, (_, n) => `run-${String(n + 1).padStart(2, '0')}`);
const [lastRun] = runs.slice(-1) as [string];

/**
 * A gateway, the relay and two notifiers, the first of which crashes between sending its third message and recording
 * it.
 */
async function startCluster(reach: Reach): Promise<{ storeFolder: string; port: number; notifiers: Server[] }> {
  const { storeFolder, start, untilReady } = await openReachCluster(reach, { partitions: 6 });
  const [gateway, relay, doomed, other] = await Promise.all([
    start('gateway'),
    start('relay'),
    start('notifier', { COUNTERSIGN_CRASH_AT: 'notifier.sent:3' }),
    start('notifier'),
  ]);
  for (const { server } of [gateway, relay, doomed, other]) await untilReady(server);
  return { storeFolder, port: gateway.port, notifiers: [doomed.server, other.server] };
}

interface Delivery {
  readonly type: string;
  readonly data: { readonly notifierId?: string; readonly approvalId: string; readonly channelId: string };
}

/** The deliveries in the store's own file. */
function deliveriesIn(folder: string): readonly Delivery[] {
  const database = new DatabaseSync(join(folder, 'eventstoredb.db'), { readOnly: true });
  try {
    const rows = database.prepare("SELECT type, data FROM events WHERE stream LIKE 'delivery-%'").all();
    return rows.map(({ type, data }) => ({
      type: String(type),
      data: JSON.parse(Buffer.from(data as Uint8Array).toString()) as Delivery['data'],
    }));
  } finally {
    database.close();
  }
}

function cardsIn(reach: Reach): Readonly<Record<'slack' | 'telegram', readonly string[]>> {
  const runOf = (args: object): string => /run-\d\d/.exec(JSON.stringify(args))?.[0] ?? '';
  const posted = reach.slack.calls().filter(({ method }) => method === 'chat.postMessage');
  const sent = reach.telegram.calls().filter(({ method }) => method === 'sendMessage');
  return { slack: posted.map(({ args }) => runOf(args)), telegram: sent.map(({ args }) => runOf(args)) };
}

async function ask(port: number, runId: string): Promise<string> {
  const call = { toolCallId: `call-${runId}`, toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true };
  const answer = await fetch(`http://127.0.0.1:${String(port)}/v1/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer agent-token' },
    body: JSON.stringify({ runId, calls: [call] }),
  });
  expect(answer.status).toBe(201);
  const { calls } = (await answer.json()) as {
    readonly calls: readonly { readonly approval: { approvalId: string } }[];
  };
  return calls[0]?.approval.approvalId ?? '';
}

async function approvalAt(port: number, approvalId: string): Promise<unknown> {
  const headers = { authorization: 'Bearer ann-token' };
  return (await fetch(`http://127.0.0.1:${String(port)}/v1/approvals/${approvalId}`, { headers })).json();
}

test('two notifiers share the work, one is killed, and answers come through a gateway and by polling', async () => {
  const reach = await openReach(['{ to: [ops-slack, ops-telegram] }'], { telegramMode: 'polling' });
  const { storeFolder, port, notifiers } = await startCluster(reach);
  const asked = new Map<string, string>();
  for (const runId of runs) asked.set(runId, await ask(port, runId));
  expect(await notifiers[0]?.exited).toMatchObject({ signal: 'SIGKILL' });

  // The crashed one's messages are taken over when its lease of 60 s is over.
  await eventually('every card to be recorded', () => {
    const delivered = deliveriesIn(storeFolder).filter(({ type }) => type === 'NotificationDelivered');
    return delivered.length >= 2 * cards || undefined;
  });
  const { slack, telegram } = cardsIn(reach);
  expect([...new Set(slack)].toSorted()).toEqual(runs);
  expect([...new Set(telegram)].toSorted()).toEqual(runs);
  // Each channel records a message before its next one: only the one in flight may come again.
  for (const sent of [slack, telegram]) expect(sent.length).toBeLessThanOrEqual(cards + 1);
  const claims = deliveriesIn(storeFolder).flatMap(({ data }) => data.notifierId ?? []);
  expect(new Set(claims).size).toBe(2);

  const first = asked.get('run-01') ?? '';
  expect(await pressInSlack(port, buttonOf(reach, 'approve', 'run-01'))).toBe(200);
  await eventually('the answer in Slack', async () => {
    const { state } = (await approvalAt(port, first)) as { readonly state: string };
    return state === 'approved' || undefined;
  });
  expect(await approvalAt(port, first)).toMatchObject({
    state: 'approved',
    responses: [{ respondedBy: 'me', via: 'ops-slack' }],
  });
  await eventually('both copies to say so', () => {
    const changed = deliveriesIn(storeFolder).filter(
      ({ type, data }) => type === 'NotificationUpdated' && data.approvalId === first,
    );
    return new Set(changed.map(({ data }) => data.channelId)).size === 2 || undefined;
  });

  const card = reach.telegram.calls().find(({ args }) => JSON.stringify(args).includes(lastRun));
  const keyboard = card?.args['reply_markup'] as { readonly inline_keyboard: { callback_data: string }[][] };
  const denying = keyboard.inline_keyboard.flat().at(1)?.callback_data ?? '';
  reach.telegram.updates.push(telegramPress(denying, 7));
  const last = asked.get(lastRun) ?? '';
  await eventually('the polled answer', async () => {
    const { state } = (await approvalAt(port, last)) as { readonly state: string };
    return state === 'denied' || undefined;
  });
  expect(await notifiers[1]?.stop()).toEqual({ code: 0, signal: null });
}, 600_000);
