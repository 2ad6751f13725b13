import { openTeamsServer, slackPress, slackSubmission, teamsBot, teamsPress } from '@countersign/channels/testing';
import { expect, test } from '@jest/globals';
import { openReach, sendAsSlack, sendAsTeams, sendAsTelegram, teamsPlace, telegramPress } from '../channels/reach.js';
import { cleanUpAfterEach, onCleanup } from '../harness/cleanup.js';
import { createRandom, seedOfRun } from '../harness/random.js';
import type { Random } from '../harness/random.js';
import { install } from '../harness/standalone.js';
import { createHostile, fuzzMs } from './hostile.js';
import type { Hostile } from './hostile.js';
import { cpuMsMax, cpuMsOf, memoryMax, memoryOf, watch } from './watched-process.js';

cleanUpAfterEach();

/** A route takes no more. */
const bytesMax = 200_000;

/** A copy of a payload with one of its members replaced, at any depth. */
function spoiled(payload: unknown, random: Random, replacement: unknown): unknown {
  if (typeof payload !== 'object' || payload === null || random.chance(0.2)) return replacement;
  const keys = Object.keys(payload);
  const spoil = keys[random.int(0, keys.length - 1)];
  const members = Object.entries(payload).map(([key, value]: [string, unknown]): [string, unknown] => [
    key,
    key === spoil ? spoiled(value, random, replacement) : value,
  ]);
  return Array.isArray(payload) ? members.map(([, value]) => value) : Object.fromEntries(members);
}

function payloads(random: Random, hostile: Hostile) {
  const text = (): string => JSON.stringify(hostile.value()).slice(0, 5000);
  const slack = (): unknown =>
    random.chance(0.5)
      ? slackPress(random.pick(['approve', 'deny', 'edit', text()]), text())
      : slackSubmission({ private_metadata: text() }, { decision: text(), reason: text(), args: text() });
  const telegram = (): unknown => telegramPress(random.chance(0.5) ? `a:${text()}` : text(), random.int(-1, 1e9));
  const teams = (): unknown =>
    teamsPress(
      teamsBot,
      { conversation: random.chance(0.5) ? teamsPlace : text(), id: text() },
      { verb: random.pick(['approve', 'deny', text()]), data: { value: text(), reason: text() } },
    );
  const asSent = (payload: unknown): unknown => {
    const sent = random.chance(0.2) ? payload : spoiled(payload, random, hostile.value());
    return JSON.stringify(sent).length > bytesMax ? null : sent;
  };
  return { slack: () => asSent(slack()), telegram: () => asSent(telegram()), teams: () => asSent(teams()) };
}

test(
  'hostile payloads with the right signature are answered below 500, decide nothing, and none occupies the process for seconds',
  async () => {
    const seed = seedOfRun();
    const random = createRandom(seed);
    const make = payloads(random, createHostile(createRandom(seed + 1)));
    const teams = await openTeamsServer(teamsBot);
    onCleanup(teams.close);
    const reach = await openReach(['{ to: [ops-slack, ops-telegram, ops-teams] }'], { teams });
    const bearer = teams.tokenFor();
    const senders = {
      slack: (at: number) => sendAsSlack(at, make.slack()),
      telegram: (at: number) => sendAsTelegram(at, make.telegram()),
      teams: (at: number) => sendAsTeams(at, make.teams(), bearer),
    } as const;
    const env = { ...reach.env, NODE_OPTIONS: '--max-old-space-size=768' };
    const { port, server, http, tokens } = await install(env);
    const body = { runId: 'r', calls: [{ toolCallId: 'c', toolName: 't', arguments: {}, needsApproval: true }] };
    const asked = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
    expect(asked.status).toBe(201);
    const { pid } = server();
    const end = watch(port);
    const statuses = new Map<string, number>();
    const until = performance.now() + fuzzMs();
    for (let round = 0; performance.now() < until; round += 1) {
      const before = cpuMsOf(pid);
      const vendor = random.pick(['slack', 'telegram', 'teams'] as const);
      const status = await senders[vendor](port);
      const key = `${vendor} ${status}`;
      statuses.set(key, (statuses.get(key) ?? 0) + 1);
      expect([seed, round, cpuMsOf(pid) - before < cpuMsMax]).toEqual([seed, round, true]);
      // What Teams invokes and no bot of ours does.
      if (status >= 500 && key !== 'teams 501')
        throw new Error(`COUNTERSIGN_TEST_SEED=${seed}, round ${round}: ${key}`);
    }
    expect(await end()).toBeGreaterThan(0);
    expect([seed, memoryOf(pid) < memoryMax]).toEqual([seed, true]);
    // Payloads pass the signature: a refused one would prove nothing.
    expect(['slack', 'telegram', 'teams'].map((vendor) => statuses.has(`${vendor} 200`))).toEqual([true, true, true]);
    expect(statuses.has('slack 401') || statuses.has('telegram 401')).toBe(false);
    const run = await http.send({ method: 'GET', path: '/v1/runs/r', token: tokens.agent });
    expect(run.body).toMatchObject({ calls: [{ state: 'awaiting_approval' }] });
  },
  120_000 + fuzzMs(),
);
