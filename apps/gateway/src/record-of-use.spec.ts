import type { SystemEventBody, SystemLog } from '@countersign/shell';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createRecordOfUse } from './record-of-use.js';
import { actorOf } from './testing/world.js';

type Recorded = Awaited<ReturnType<SystemLog['recorded']>>;

const nothing = {
  revision: -1,
  credentials: new Map(),
  digests: new Map(),
  backups: [],
  rootKey: undefined,
  contradicted: undefined,
  logKey: undefined,
};

function openUse(lostEnd?: Recorded['lostEnd']) {
  const clock = createVirtualClock(Date.parse('2026-11-27T10:00:00Z'));
  const noted: { readonly tenant: string; readonly event: SystemEventBody }[] = [];
  const closed: number[] = [];
  const recorded: Recorded = { ...nothing, restoredTo: undefined, lostEnd };
  const system: { -readonly [Name in 'note' | 'record' | 'recorded' | 'close']: SystemLog[Name] } = {
    recorded: () => Promise.resolve(recorded),
    record: (tenant, event) => Promise.resolve(void noted.push({ tenant, event })),
    note: (tenant, event) => void noted.push({ tenant, event: event() }),
    close: () => Promise.resolve(void closed.push(noted.length)),
  };
  const reads = () =>
    noted.flatMap(({ event }) => (event.type === 'AuditRead' ? [event.data] : [])).flatMap((data) => data.reads);
  return { clock, system, noted, closed, reads, use: createRecordOfUse(system, clock) };
}

const auditor = actorOf('auditor-token');
const read = { what: 'export', values: 'clear' } as const;
const masked = { what: 'export', values: 'masked' } as const;

describe('the record of use', () => {
  it('has who goes on with a log that contradicts what was signed, at once', async () => {
    const { noted, use } = openUse();
    const restored = { reason: 'from the backup', checkpoint: null, why: 'it is shorter' };
    await use.logRestored(auditor, restored);
    expect(noted).toMatchObject([
      { tenant: 'default', event: { type: 'LogRestored', data: { principal: 'auditor', ...restored } } },
    ]);
  });

  it('has who knows that the log has lost its end, once, and nothing where it has not', async () => {
    const { noted, use } = openUse({ from: 132, to: 11 });
    await use.lossKnown({ ...auditor, tenant: 'acme' }, 'of another tenant');
    await openUse().use.lossKnown(auditor, 'nothing is lost');
    await use.lossKnown(auditor, 'the disk was replaced');
    const data = { from: 132, to: 11, by: 'auditor', reason: 'the disk was replaced' };
    expect(noted).toMatchObject([{ tenant: 'default', event: { type: 'LogEndAccepted', data } }]);
  });

  it('has the first read of an auditor at once, the others of the hour in events of 20, and drops none', async () => {
    const { clock, noted, reads, use } = openUse();
    for (let n = 0; n < 50; n += 1) {
      await use.auditRead(auditor, { ...masked, after: n });
      clock.advance(1000);
    }
    const data = { principal: 'auditor', count: 1, reads: [{ after: 0 }] };
    expect(noted[0]).toMatchObject({ tenant: 'default', event: { type: 'AuditRead', data } });
    clock.advance(3_600_000);
    const counts = [1, 20, 20, 9];
    expect(noted.map(({ event }) => event.data)).toMatchObject(counts.map((count) => ({ count })));
    expect(reads().map(({ after }) => after)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    const times = { firstAt: '2026-11-27T10:00:01.000Z', lastAt: '2026-11-27T10:00:20.000Z' };
    expect(noted[1]?.event.data).toMatchObject({ ...times, credential: auditor.credential, roles: ['auditor'] });
  });

  it('has an export in clear before its first byte, however many small reads are before and after it', async () => {
    const { noted, reads, use } = openUse();
    await use.auditRead(auditor, { ...read, limit: 1 });
    await use.auditRead(auditor, { ...read, limit: 10_000 });
    expect(noted.map(({ event }) => event.data)).toMatchObject([
      { reads: [{ limit: 1 }] },
      { reads: [{ limit: 10_000 }] },
    ]);
    for (let n = 0; n < 30; n += 1) await use.auditRead(auditor, { ...read, limit: 1 });
    await use.close();
    expect(reads().map(({ limit }) => limit)).toEqual([1, 10_000, ...Array.from({ length: 30 }, () => 1)]);
  });

  it.each([
    { ...read, limit: 5, after: 5 },
    { ...read, limit: 5, since: '2026-11-01T00:00:00.000Z' },
    { ...read, limit: 5, values: 'stored' },
    { what: 'call', values: 'clear', callId: 'tc_b' },
  ] as const)('has a read of other clear or stored values at once: %j', async (other) => {
    const { noted, use } = openUse();
    for (const one of [{ ...read, limit: 5 }, other, other]) await use.auditRead(auditor, one);
    expect(noted.map(({ event }) => event.data)).toMatchObject([{ reads: [{ limit: 5 }] }, { reads: [other] }]);
  });

  it('has the same range at once again when something else was asked of it, and in the next hour', async () => {
    const { clock, noted, use } = openUse();
    for (const asked of ['?actor=ann', '?actor=bob', '?actor=ann']) await use.auditRead(auditor, read, asked);
    expect(noted).toHaveLength(2);
    clock.advance(3_600_000);
    expect(noted).toHaveLength(3);
    await use.auditRead(auditor, read, '?actor=ann');
    expect(noted).toHaveLength(4);
  });

  it('shows no clear values that could not be recorded', async () => {
    const { system, use } = openUse();
    system.record = () => Promise.reject(new Error('the store is away'));
    await expect(use.auditRead(auditor, read)).rejects.toThrow('the store is away');
    await expect(use.auditRead(auditor, read)).rejects.toThrow('the store is away');
    await expect(use.auditRead(auditor, masked)).resolves.toBeUndefined();
  });

  it('has the refused sign-ins of a minute as one event, and none of a minute without', () => {
    const { clock, noted, use } = openUse();
    for (let n = 0; n < 1000; n += 1) use.signInRefused('unknown token');
    use.signInRefused('provider');
    expect(noted).toEqual([]);
    clock.advance(180_000);
    expect(noted).toMatchObject([
      { event: { type: 'SignInRefused', data: { count: 1001, reasons: { 'unknown token': 1000, provider: 1 } } } },
    ]);
  });

  it('has a sign-in at once, and a flood of them as one more event', () => {
    const { clock, noted, use } = openUse();
    for (let n = 0; n < 100; n += 1) use.signedIn(auditor, 'token');
    clock.advance(60_000);
    expect(noted.map(({ event }) => event)).toMatchObject([
      { type: 'SignedIn', data: { principal: 'auditor', with: 'token' } },
      { type: 'SignedIn', data: { principal: 'auditor', more: 98 } },
    ]);
  });

  it('has the sums that are open when the process stops, and waits until they are recorded', async () => {
    const { closed, noted, use } = openUse();
    await use.auditRead(auditor, read);
    await use.auditRead(auditor, read);
    await use.close();
    expect(noted.map(({ event }) => event.type)).toEqual(['AuditRead', 'AuditRead']);
    expect(closed).toEqual([2]);
  });
});
