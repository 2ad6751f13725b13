import type { SystemEventBody, SystemLog } from '@countersign/shell';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createRecordOfUse } from './record-of-use.js';
import { actorOf } from './testing/world.js';

type Recorded = Awaited<ReturnType<SystemLog['recorded']>>;

const nothing = {
  revision: -1,
  credentials: new Map(),
  digests: new Map(),
  rootKey: undefined,
  contradicted: undefined,
  logKey: undefined,
};

function openUse(lostEnd?: Recorded['lostEnd']) {
  const clock = createVirtualClock(Date.parse('2026-11-27T10:00:00Z'));
  const noted: { readonly tenant: string; readonly event: SystemEventBody }[] = [];
  const recorded: Recorded = { ...nothing, restoredTo: undefined, lostEnd };
  const system: Pick<SystemLog, 'note' | 'record' | 'recorded'> = {
    recorded: () => Promise.resolve(recorded),
    record: (tenant, event) => Promise.resolve(void noted.push({ tenant, event })),
    note: (tenant, event) => void noted.push({ tenant, event: event() }),
  };
  return { clock, noted, use: createRecordOfUse(system, clock) };
}

const auditor = actorOf('auditor-token');
const read = { what: 'export', values: 'clear' } as const;

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

  it('has the first read of an auditor at once, and the others of the hour at its end', () => {
    const { clock, noted, use } = openUse();
    for (let n = 0; n < 50; n += 1) {
      use.auditRead(auditor, { ...read, after: n });
      clock.advance(1000);
    }
    expect(noted).toMatchObject([
      {
        tenant: 'default',
        event: { type: 'AuditRead', data: { principal: 'auditor', count: 1, reads: [{ after: 0 }] } },
      },
    ]);
    clock.advance(3_600_000);
    expect(noted).toHaveLength(2);
    const sum = noted[1]?.event.data as {
      readonly count: number;
      readonly reads: readonly { readonly after: number }[];
    };
    expect(sum.count).toBe(49);
    expect(sum.reads.map(({ after }) => after)).toEqual(Array.from({ length: 20 }, (_, n) => 30 + n));
    expect(noted[1]?.event.data).toMatchObject({ credential: auditor.credential, roles: ['auditor'] });
  });

  it('has the first clear read of an hour at once also after masked ones, which do not push it out', () => {
    const { noted, use, clock } = openUse();
    use.auditRead(auditor, { ...read, values: 'masked', after: 0 });
    use.auditRead(auditor, { ...read, values: 'clear', after: 1 });
    use.auditRead(auditor, { ...read, values: 'clear', after: 2 });
    for (let n = 3; n < 40; n += 1) use.auditRead(auditor, { ...read, values: 'masked', after: n });
    clock.advance(3_600_000);
    const clear = noted.flatMap(({ event }) =>
      (event.data as { readonly reads: readonly { readonly values: string; readonly after: number }[] }).reads.filter(
        ({ values }) => values === 'clear',
      ),
    );
    expect(noted).toHaveLength(4);
    expect(clear.map(({ after }) => after)).toEqual([1, 2]);
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

  it('has the sums that are open when the process stops', () => {
    const { noted, use } = openUse();
    use.auditRead(auditor, read);
    use.auditRead(auditor, read);
    use.close();
    expect(noted.map(({ event }) => event.type)).toEqual(['AuditRead', 'AuditRead']);
  });
});
