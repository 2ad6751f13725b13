import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { interactive, slackPress, slackSubmission } from '@countersign/channels/testing';
import { expect, test } from '@jest/globals';
import { buttonOf, openReach } from '../../channels/reach.js';
import type { Reach } from '../../channels/reach.js';
import { cleanUpAfterEach } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

/** The data of the events of one type, from the store's own file. */
function recordedIn(folder: string, type: string): readonly { readonly policyVersion?: string }[] {
  const database = new DatabaseSync(join(folder, 'eventstoredb.db'), { readOnly: true });
  try {
    const rows = database.prepare('SELECT data FROM events WHERE type = ?').all(type);
    return rows.map(
      ({ data }) => JSON.parse(Buffer.from(data as Uint8Array).toString()) as { readonly policyVersion?: string },
    );
  } finally {
    database.close();
  }
}

async function ask(port: number): Promise<void> {
  const call = { toolCallId: 'call-1', toolName: 'delete_file', arguments: { path: '/x' } };
  const answer = await fetch(`http://127.0.0.1:${String(port)}/v1/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer agent-token' },
    body: JSON.stringify({ runId: 'run-1', calls: [call] }),
  });
  expect(answer.status).toBe(201);
  await answer.arrayBuffer();
}

/** Opens the modal of the card as its button "More…" does, and sends an edit in it. */
async function editInSlack({ slack, ...reach }: Reach, path: string): Promise<object> {
  const opened = slack.calls().filter(({ method }) => method === 'views.open').length;
  const { action_id: actionId, value } = buttonOf({ slack, ...reach }, 'more');
  await slack.sockets.deliver(interactive(slackPress(actionId, value)));
  const view = await eventually('a modal', () => {
    const views = slack.calls().filter(({ method }) => method === 'views.open');
    return views[opened]?.args['view'];
  });
  const args = JSON.stringify({ path });
  return (await slack.sockets.deliver(interactive(slackSubmission(view as object, { decision: 'edit', args }))))
    .payload;
}

test('a notifier judges the edits of its channel by its policy file, and refuses them where it has none', async () => {
  const reach = await openReach(['{ to: [ops-slack] }'], { slackMode: 'socket' });
  const policy = join(reach.folder, 'policy.yaml');
  writeFileSync(policy, 'version: 1\nrequireApprovalTools: ["delete_*"]\n');
  const cluster = await openReachCluster(reach);
  const judging = { COUNTERSIGN_POLICY: policy };
  const listening = (count: number) =>
    eventually(`${String(count)} listeners`, () => reach.slack.sockets.connected() === count || undefined);
  const [gateway, relay, unaware] = await Promise.all([
    cluster.start('gateway', judging),
    cluster.start('relay'),
    cluster.start('notifier'),
  ]);
  for (const { server } of [gateway, relay, unaware]) await cluster.untilReady(server);
  await ask(gateway.port);
  await eventually('a card in Slack', () => reach.slack.calls().length > 0 || undefined);
  await listening(1);
  expect(JSON.stringify(await editInSlack(reach, '/y'))).toContain('edit them in the inbox');
  expect(recordedIn(cluster.storeFolder, 'ApprovalResponded')).toEqual([]);

  await unaware.server.stop();
  const knowing = await cluster.start('notifier', judging);
  await cluster.untilReady(knowing.server);
  await listening(1);
  expect(await editInSlack(reach, '/z')).toEqual({});
  const version = recordedIn(cluster.storeFolder, 'PolicyActivated')[0]?.policyVersion;
  expect(version).toMatch(/^sha256:/);
  expect(recordedIn(cluster.storeFolder, 'ApprovalResponded')).toMatchObject([
    {
      respondedBy: 'me',
      via: 'ops-slack',
      decision: { type: 'edit', arguments: { path: '/z' }, verdict: { outcome: 'require', policyVersion: version } },
    },
  ]);
}, 300_000);
