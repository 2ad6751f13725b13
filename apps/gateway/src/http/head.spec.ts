import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allRoutes } from '../routes.js';
import { createApi } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let ids: Readonly<Record<string, string>> = {};
beforeAll(async () => {
  world = await openWorld();
  const { callId, approvalId, runId } = await createApi(world).pending();
  ids = { callId, approvalId, runId, grantId: 'none', code: 'expired' };
});
afterAll(() => world.close());

const ask = (method: string, path: string, as: string | null) =>
  fetch(`${world.url}${path}`, { method, ...(as !== null && { headers: { authorization: `Bearer ${as}-token` } }) });

const differing = new Set([
  'date',
  'content-length',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'request-id',
  'ratelimit',
]);
const headersOf = ({ headers }: Response) => [...headers].filter(([name]) => !differing.has(name));

describe('HEAD', () => {
  it.each(allRoutes.filter(({ method }) => method === 'GET'))('$path is GET without a body', async ({ path }) => {
    const at = path.replaceAll(/:([A-Za-z]+)/g, (_, name: string) => ids[name] ?? '');
    for (const as of ['ann', 'auditor', null]) {
      const head = await ask('HEAD', at, as);
      // An event stream would not end.
      expect(await head.text()).toBe('');
      const get = await ask('GET', at, as);
      expect([head.status, headersOf(head)]).toEqual([get.status, headersOf(get)]);
      const length = get.headers.get('content-length');
      if (path !== '/metrics' && length !== null) expect(head.headers.get('content-length')).toBe(length);
      await get.body?.cancel();
    }
  });

  it('has the mark of a damaged log, like GET', async () => {
    const damaged = await openWorld({ change: (ports) => ({ ...ports, isLogDamaged: () => true }) });
    const marks = ['GET', 'HEAD'].map(async (method) => {
      const headers = { authorization: 'Bearer ann-token' };
      const { headers: given } = await fetch(`${damaged.url}/v1/approvals`, { method, headers });
      return given.get('countersign-log');
    });
    expect(await Promise.all(marks)).toEqual(['damaged', 'damaged']);
    await damaged.close();
  });

  it('takes none of the streams of its sender', async () => {
    const answers = await Promise.all(Array.from({ length: 300 }, () => ask('HEAD', '/v1/events', 'ann')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it.each(['/v1/events?after=never', '/v1/tool-calls?limit=0', '/v1/audit/events?after=x', '/v1/none'])(
    'is refused like GET: %s',
    async (path) => {
      const [head, get] = await Promise.all([ask('HEAD', path, 'auditor'), ask('GET', path, 'auditor')]);
      expect([head.status, await head.text()]).toEqual([get.status, '']);
      expect(head.status).toBeGreaterThanOrEqual(400);
    },
  );
});
