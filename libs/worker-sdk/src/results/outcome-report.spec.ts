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

/** Runs one call. Some reports get a response of their own. Returns the result, and what the worker logged. */
async function runWith(responseTo: (body: string) => Response | undefined) {
  const countersign = createFakeCountersign();
  const lines: string[] = [];
  const log: WorkerLog = { warn: () => undefined, error: (_, message) => void lines.push(message) };
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const body = typeof init?.body === 'string' ? init.body : '';
    const own = urlOf(url).endsWith('/outcome') ? responseTo(body) : undefined;
    return own ?? countersign.fetch(url, init);
  };
  const tools = [gateTool({ name: 'work', inputSchema: z.strictObject({}), execute: () => 'EFFECT' })];
  const settings = { url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch, log, clock: fastClock };
  const worker = createWorker(settings);
  const { results } = await worker.step({
    runId: 'r',
    toolCalls: [{ toolCallId: 'c', toolName: 'work', arguments: {} }],
  });
  await worker.close();
  return { results, lines };
}

/** Responds to the first four reports. */
const fourTimes = (respond: () => Response): (() => Response | undefined) => {
  let left = 4;
  return () => (left-- > 0 ? respond() : undefined);
};

it.each([401, 403])(
  'an outcome is reported once the token that was refused with %d is accepted again',
  async (status) => {
    const code = status === 401 ? 'unauthenticated' : 'forbidden';
    const problem = { type: 'about:blank', title: code, status, code, detail: code };
    const { results, lines } = await runWith(fourTimes(() => Response.json(problem, { status })));
    expect(results).toMatchObject([{ status: 'succeeded', output: 'EFFECT' }]);
    expect(lines).toEqual([expect.stringContaining('token')]);
  },
);

it.each([200, 302, 403, 404])(
  'an outcome is reported again while a proxy answers with a page and %d',
  async (status) => {
    const { results, lines } = await runWith(fourTimes(() => new Response('<html>', { status })));
    expect(results).toMatchObject([{ status: 'succeeded', output: 'EFFECT' }]);
    expect(lines).toEqual([expect.stringContaining('not that of Countersign')]);
  },
);

it('a success is reported without its output when a proxy takes no body of that size', async () => {
  const page = () => new Response('<html>', { status: 413 });
  const { results } = await runWith((body) => (body.includes('EFFECT') ? page() : undefined));
  expect(results).toMatchObject([{ status: 'succeeded', output: { unrecorded: expect.anything() as unknown } }]);
});
