import { expect, it } from '@jest/globals';
import { systemClock, type Clock } from '@countersign/contracts/clock';
import { z } from 'zod';
import { gateTool } from '../tools/gate-tool.js';
import type { WorkerLog } from '../log.js';
import { createFakeCountersign } from '../testing.js';
import { createWorker } from '../worker.js';

const urlOf = (input: Parameters<typeof fetch>[0]): string => (input instanceof Request ? input.url : input.toString());
/** A thousand times as fast. */
const fastClock: Clock = { ...systemClock, setTimer: (delayMs, fn) => systemClock.setTimer(delayMs / 1000, fn) };

it.each([401, 403])(
  'an outcome is reported once the token that was refused with %d is accepted again',
  async (status) => {
    const countersign = createFakeCountersign();
    const lines: string[] = [];
    const log: WorkerLog = { warn: () => undefined, error: (_, message) => void lines.push(message) };
    let refusals = 0;
    const code = status === 401 ? 'unauthenticated' : 'forbidden';
    const fetch: typeof globalThis.fetch = async (url, init) => {
      if (!urlOf(url).endsWith('/outcome') || refusals === 4) return countersign.fetch(url, init);
      refusals += 1;
      return Response.json({ type: 'about:blank', title: code, status, code, detail: code }, { status });
    };
    const tools = [gateTool({ name: 'work', inputSchema: z.strictObject({}), execute: () => 'EFFECT' })];
    const settings = { url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch, log, clock: fastClock };
    const worker = createWorker(settings);
    const { results } = await worker.step({
      runId: 'r',
      toolCalls: [{ toolCallId: 'c', toolName: 'work', arguments: {} }],
    });
    expect(results).toMatchObject([{ status: 'succeeded', output: 'EFFECT' }]);
    expect([refusals, lines]).toEqual([4, [expect.stringContaining('token')]]);
    await worker.close();
  },
);
