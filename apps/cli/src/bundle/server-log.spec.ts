import { expect, it } from '@jest/globals';
import type { LedgerClient } from '../connection/ledger-client.js';
import { readServerLog } from './server-log.js';

/** Positions have gaps: another tenant writes too. */
const positions = Array.from({ length: 6_000 }, (_, index) => index * 3 + 2);

/** A server that ends each third page early, as it does when a page is large. */
function serverOf(lineOf: (position: number) => object): LedgerClient {
  let pages = 0;
  const open = async (path: string): Promise<Response> => {
    const query = new URLSearchParams(path.split('?')[1]);
    const after = Number(query.get('after') ?? 0);
    pages += 1;
    const limit = pages % 3 === 0 ? 100 : Number(query.get('limit'));
    const found = positions.filter((position) => position > after).slice(0, limit);
    const last = found.at(-1) ?? 0;
    const isMasked = !query.has('values');
    const lines = found.map((at) => JSON.stringify(isMasked ? { eventId: `e-${String(at)}`, type: 'X' } : lineOf(at)));
    return Promise.resolve(
      new Response(lines.map((line) => `${line}\n`).join(''), {
        headers: {
          'countersign-position': '20000',
          ...(last < (positions.at(-1) ?? 0) && { link: `</v1/audit/events?after=${String(last)}>; rel="next"` }),
        },
      }),
    );
  };
  const look = () => Promise.resolve({ ok: false, status: 404, headers: new Headers(), text: '', body: undefined });
  return { open, look, get: () => Promise.resolve({ tenant: 'acme' }) } as unknown as LedgerClient;
}

const place = (at: number) => ({
  ...{ eventId: `e-${String(at)}`, stream: 's', revision: at, type: 'ToolCallRequested' },
  recordedAt: '2026-11-02T00:00:00.000Z',
});
const stored = (at: number) => ({ ...place(at), metadata: { tenant: 'acme' }, data: {} });

async function revisionsAfter(client: LedgerClient, position: number) {
  const log = await readServerLog(client, new AbortController().signal, { values: 'stored' });
  const events = [];
  for await (const event of log.eventsAfter(position)) events.push(event);
  return events;
}

it('reads every event once, and goes on after each event at which an export is saved', async () => {
  const events = await revisionsAfter(serverOf(stored), 0);
  expect(events.map((event) => event.stored?.revision)).toEqual(positions);
  for (const count of [2_560, 5_120]) {
    const rest = await revisionsAfter(serverOf(stored), events[count - 1]?.done ?? 0);
    expect(rest.map((event) => event.stored?.revision)).toEqual(positions.slice(count));
  }
});

it('has the masked view of an event that the server sends as its digest, and names a line that is no event', async () => {
  const body = `sha256:${'0'.repeat(64)}`;
  const events = await revisionsAfter(
    serverOf((at) => (at === 302 ? { v: 1, ...place(at), body } : at === 305 ? { nothing: true } : stored(at))),
    290,
  );
  const found = (at: number) => events[positions.filter((position) => position > 290).indexOf(at)];
  expect(found(302)).toMatchObject({ entry: { eventId: 'e-302', body }, view: { eventId: 'e-302' }, damage: [] });
  expect(found(305)).toMatchObject({ stored: undefined, damage: [{ check: 'read' }] });
});

it('reads a text with line ends of other programs as it is', async () => {
  const text = 'one\u2028two\u2029three\u0085four';
  const events = await revisionsAfter(
    serverOf((at) => ({ ...stored(at), data: { text } })),
    positions.at(-3) ?? 0,
  );
  expect(events).toMatchObject([
    { stored: { data: { text } }, damage: [] },
    { stored: { data: { text } }, damage: [] },
  ]);
});
