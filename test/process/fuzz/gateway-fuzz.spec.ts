import { expect, test } from '@jest/globals';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import { createRandom, seedOfRun } from '../harness/random.js';
import { install } from '../harness/standalone.js';
import type { Installation } from '../harness/standalone.js';
import { createHostile, fuzzMs } from './hostile.js';
import { cpuMsMax, cpuMsOf, memoryMax, memoryOf, watch } from './watched-process.js';

cleanUpAfterEach();

async function post({ port, tokens }: Installation, path: string, body: string, key: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tokens.agent}`, 'content-type': 'application/json', 'idempotency-key': key },
    body,
    signal: AbortSignal.timeout(20_000),
  });
  await answer.arrayBuffer();
  return answer.status;
}

test(
  'hostile requests are answered below 500, and none occupies the process for seconds',
  async () => {
    const seed = seedOfRun();
    const hostile = createHostile(createRandom(seed));
    const random = createRandom(seed + 1);
    const env = { COUNTERSIGN_REQUESTS_PER_SECOND: '1000', NODE_OPTIONS: '--max-old-space-size=768' };
    const installation = await install(env);
    const { pid } = installation.server();
    const end = watch(installation.port);
    const statuses = new Map<number, number>();
    const until = performance.now() + fuzzMs();
    for (let round = 0; performance.now() < until; round += 1) {
      const path = random.chance(0.9) ? '/v1/tool-calls' : '/v1/runs/r/cancel';
      const text = hostile.body(`run-${round}`);
      const before = cpuMsOf(pid);
      const status = await post(installation, path, text, `key-${round}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      expect([seed, round, cpuMsOf(pid) - before < cpuMsMax]).toEqual([seed, round, true]);
      if (status >= 500) throw new Error(`COUNTERSIGN_TEST_SEED=${seed}, round ${round}: ${path} answered ${status}`);
    }
    expect(await end()).toBeGreaterThan(0);
    expect([seed, memoryOf(pid) < memoryMax]).toEqual([seed, true]);
    // Both verdicts are reached: the input is neither all refused nor all harmless.
    expect([statuses.has(201), statuses.has(400)]).toEqual([true, true]);
  },
  120_000 + fuzzMs(),
);
