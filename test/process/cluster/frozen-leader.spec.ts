import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTestCluster } from '../../eventstoredb-server/cluster.ts';
import { cleanUpAfterEach, onCleanup } from '../harness/cleanup.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import { readinessOf, startRole, untilWaitingFor, writeTokens } from './roles.js';

cleanUpAfterEach();

/** Measured on three real servers: the others elect a leader ten seconds after theirs froze. */
const [electedAfterMs, thawedAfterMs] = [10_000, 5000];
const inFlight = 200;

/** Requests one call until it succeeds; returns the refusals before that. */
async function request(gateway: Server, toolCallId: string): Promise<readonly number[]> {
  const refusals: number[] = [];
  const call = { toolCallId, toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true };
  for (;;) {
    const { status, headers } = await gateway.http.send({
      method: 'POST',
      path: '/v1/tool-calls',
      token: 'agent-token',
      body: { runId: 'run-1', calls: [call] },
      idempotencyKey: toolCallId,
      timeoutMs: 60_000,
    });
    if (status === 201 || status === 200) return refusals;
    refusals.push(status);
    await sleep(1000 * Number(headers['retry-after'] ?? 1));
  }
}

function linesWith(output: string, words: RegExp): readonly string[] {
  return output.split('\n').filter((line) => words.test(line));
}

test('a leader that freezes for 15 s under 200 requests at two gateways, three times: all answered, each recorded once, no process ends', async () => {
  const cluster = await startTestCluster();
  onCleanup(cluster.stop);
  const env = { COUNTERSIGN_EVENTSTORE_URL: cluster.url, COUNTERSIGN_TOKENS_FILE: writeTokens() };
  const gateways = await Promise.all([startRole('gateway', env), startRole('gateway', env)]);
  await Promise.all(gateways.map((gateway) => gateway.ready()));
  for (let round = 1; round <= 3; round += 1) {
    const leader = cluster.leader();
    cluster.freezeLeader();
    const asked = Array.from({ length: inFlight }, (_, n) =>
      request(gateways[n % 2] as Server, `call-${String(round)}-${String(n % (inFlight / 2))}`),
    );
    await Promise.all([
      sleep(electedAfterMs),
      round > 1 || untilWaitingFor(gateways[0], 'event-store', /the leader \S+ does not answer/),
    ]);
    cluster.elect();
    const thawed = sleep(thawedAfterMs).then(cluster.thaw);
    expect(cluster.leader()).not.toBe(leader);
    const startedAt = performance.now();
    await eventually('both gateways to be ready', async () => {
      const answers = await Promise.all(gateways.map(readinessOf));
      return answers.every((answer) => answer?.status === 200) || undefined;
    });
    process.stdout.write(`ready ${String(Math.round(performance.now() - startedAt))} ms after the election\n`);
    for (const refusals of await Promise.all(asked)) expect(refusals.every((status) => status === 503)).toBe(true);
    await thawed;
  }
  const streams = new Map<string, string[]>();
  for (const { stream, type } of cluster.members[0]?.log.readAll(0, 'forwards', 10_000) ?? []) {
    if (stream.startsWith('toolCall-')) streams.set(stream, [...(streams.get(stream) ?? []), type]);
  }
  expect(streams.size).toBe((3 * inFlight) / 2);
  for (const types of streams.values()) expect(types).toEqual(['ToolCallRequested', 'ApprovalRequested']);
  for (const gateway of gateways) {
    expect(linesWith(gateway.output(), /to be started again|escaped from a library/)).toEqual([]);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  }
}, 300_000);
