import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { oversightGroupings } from '@countersign/contracts';
import type { OversightFigures, OversightReport, RecordedEvent } from '@countersign/contracts';
import { defaultPace } from '@countersign/domain';
import { arbitraryLog } from '../testing/arbitrary-log.js';
import { createTestLog, minute, minuteMs, requirement, stage, verdict } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';
import { createOversight } from './oversight.js';
import type { OversightOptions } from './oversight.js';

type Table = Pick<OversightReport, 'rows' | 'others' | 'total' | 'fastPositions'>;

const reportOn = (events: readonly RecordedEvent[], options: Partial<OversightOptions> = {}): Promise<Table> => {
  const oversight = createOversight({ by: 'approver', fromMs: 0, toMs: Infinity, pace: defaultPace, ...options });
  for (const event of events) {
    if (oversight.isLost(event)) {
      oversight.recall(events.filter(({ stream, revision }) => stream === event.stream && revision < event.revision));
    }
    oversight.add(event);
  }
  return oversight.rows();
};
const rowsOf = async (log: TestLog, options: Partial<OversightOptions> = {}) => {
  const { rows } = await reportOn(log.events, options);
  return new Map(rows.map(({ key, ...figures }) => [key, figures]));
};
const seconds = (n: number): string => new Date(minuteMs(0) + n * 1000).toISOString();

/** Alice approves a refund in 1 s, and denies another after 5 minutes for Carol; Bob edits one after 10; one expires. */
const history = (): TestLog => {
  const log = createTestLog();
  const [first, second, third, fourth] = ['1', '2', '3', '4'].map((id) => log.call(id));
  first?.record('ToolCallRequested');
  first?.record('ApprovalRequested');
  first?.record('ValuesRevealed');
  first?.record('ApprovalResponded', { respondedAt: seconds(1) });
  first?.record('ExecutionClaimed');
  second?.record('ToolCallRequested', { toolName: 'delete_file' });
  second?.record('ApprovalRequested', { verdict: { ...verdict, ruleId: 'deletions' } });
  second?.record('ApproversReminded');
  second?.record('ApprovalResponded', {
    ...{ decision: { type: 'deny' }, resolution: 'denied', onBehalfOf: 'carol', respondedAt: minute(5) },
  });
  third?.record('ToolCallRequested');
  third?.record('ApprovalRequested', { requirement: requirement({ stages: [stage({ approve: 2 })] }) });
  third?.record('ApprovalEscalated', { escalatedAt: minute(1) });
  third?.record('ApprovalResponded', {
    ...{ decision: { type: 'approve' }, resolution: 'pending', respondedBy: 'Bob ', respondedAt: minute(10) },
  });
  third?.record('ResponseWithdrawn', { withdrawnBy: 'bob' });
  third?.record('ApprovalExpired');
  fourth?.record('ToolCallRequested');
  fourth?.record('ToolCallAllowed');
  return log;
};

const none: OversightFigures = {
  ...{ decisions: 0, approvals: 0, edits: 0, denials: 0, answers: 0, rejectionRate: null, medianMs: null, p90Ms: null },
  ...{ fastApprovals: 0, onBehalfOf: 0, withdrawn: 0, reveals: 0, requests: 0, expiries: 0, escalations: 0 },
  ...{ reminders: 0, cancellations: 0, automatic: 0 },
};

describe('an oversight report', () => {
  it('counts what each approver did, and in the last row what no person did', async () => {
    const { rows, total, others } = await reportOn(history().events);
    const alice = {
      ...{ ...none, decisions: 2, approvals: 1, denials: 1, rejectionRate: 0.5, medianMs: 1_000, p90Ms: 300_000 },
      ...{ fastApprovals: 1, onBehalfOf: 1, reveals: 1 },
    };
    const bob = { ...none, decisions: 1, approvals: 1, rejectionRate: 0, medianMs: 600_000, p90Ms: 600_000 };
    const nobody = { ...none, requests: 3, expiries: 1, escalations: 1, reminders: 1 };
    expect(rows).toEqual([
      { key: 'alice', ...alice },
      { key: 'bob', ...bob, withdrawn: 1 },
      { key: null, ...nobody },
    ]);
    expect(others).toBeNull();
    expect(total).toEqual({
      ...{ ...none, decisions: 3, approvals: 2, denials: 1, rejectionRate: 1 / 3, medianMs: 300_000, p90Ms: 600_000 },
      ...{ fastApprovals: 1, onBehalfOf: 1, withdrawn: 1, reveals: 1 },
      ...{ requests: 3, expiries: 1, escalations: 1, reminders: 1 },
    });
  });

  it('counts by tool and by rule', async () => {
    const tools = await rowsOf(history(), { by: 'tool' });
    expect([...tools.keys()]).toEqual(['refund_order', 'delete_file']);
    expect(tools.get('delete_file')).toMatchObject({
      decisions: 1,
      denials: 1,
      reminders: 1,
      requests: 1,
      expiries: 0,
    });
    expect([...(await rowsOf(history(), { by: 'rule' })).keys()]).toEqual(['refunds', 'deletions']);
  });

  it('counts the own doings alone for one principal', async () => {
    const own = await rowsOf(history(), { principal: 'ALICE' });
    expect([...own.keys()]).toEqual(['alice']);
    const bobs = await reportOn(history().events, {
      principal: 'bob',
      pace: { baseMs: 601_000, perCharacterMs: 0, maxMs: 601_000 },
    });
    expect(bobs.fastPositions).toHaveLength(bobs.total.fastApprovals);
    expect((await rowsOf(history(), { by: 'tool', principal: 'bob' })).get('refund_order')).toMatchObject({
      decisions: 1,
      requests: 0,
      expiries: 0,
    });
  });

  it('takes the longer of a fixed time and the reading time of the arguments, as it is told', async () => {
    const fastOf = async (fastMs: number) =>
      (await reportOn(history().events, { pace: { baseMs: fastMs, perCharacterMs: 0, maxMs: fastMs } })).total
        .fastApprovals;
    expect([await fastOf(1_000), await fastOf(1_001), await fastOf(600_001)]).toEqual([0, 1, 2]);
  });

  it('measures speed by the edited arguments once there was an edit', async () => {
    const log = createTestLog();
    const call = log.call('1');
    call.record('ToolCallRequested');
    call.record('ApprovalRequested', { requirement: requirement({ stages: [stage({ approve: 2 })] }) });
    const args = { text: 'x'.repeat(5_000) };
    const decision = {
      ...{ type: 'edit' as const, arguments: args, sensitive: [] },
      salt: '01',
      verdict,
      requirement: null,
      clock: null,
    };
    call.record('ApprovalResponded', { decision, proposal: 2, resolution: 'pending', respondedBy: 'bob' });
    call.record('ApprovalResponded', { proposal: 2, respondedAt: new Date(minuteMs(5) + 30_000).toISOString() });
    expect((await rowsOf(log)).get('alice')).toMatchObject({ medianMs: 30_000, fastApprovals: 1 });
  });

  it('tells nothing about the length of a hidden value', async () => {
    const log = createTestLog();
    for (const [id, length] of [
      ['short', 1],
      ['long', 5_000],
    ] as const) {
      const call = log.call(id);
      call.record('ToolCallRequested', { arguments: { pin: 'x'.repeat(length) }, sensitive: ['/pin'] });
      call.record('ApprovalRequested');
      call.record('ApprovalResponded', { respondedAt: seconds(30) });
    }
    expect((await rowsOf(log)).get('alice')).toMatchObject({ decisions: 2, fastApprovals: 0 });
  });

  it('counts a decision in a chat as fast from when the card was there', async () => {
    const log = createTestLog();
    const call = log.call('1');
    call.record('ToolCallRequested');
    const asked = call.record('ApprovalRequested');
    const shown = { approvalId: call.approvalId(), channelId: 'ops-slack', kind: 'requested', nth: 0, recipient: null };
    log.events.push({
      ...asked,
      ...{ type: 'NotificationDelivered', stream: 'delivery-1', revision: 0 },
      data: { ...shown, messageRef: null, shows: 'pending', deliveredAt: minute(4) },
    } as unknown as RecordedEvent);
    call.record('ApprovalResponded', { via: 'ops-slack', respondedAt: new Date(minuteMs(4) + 500).toISOString() });
    const { total, fastPositions } = await reportOn(log.events);
    expect(total).toMatchObject({ fastApprovals: 1, medianMs: 240_500 });
    expect(fastPositions).toEqual([log.events.at(-1)?.position]);
  });

  it('counts silence that approves as no decision of a person', async () => {
    const log = createTestLog();
    const call = log.call('1');
    call.record('ToolCallRequested');
    call.record('ApprovalRequested');
    call.record('ApprovalResponded', { automatic: true, respondedBy: 'countersign' });
    const { rows } = await reportOn(log.events);
    expect(rows).toEqual([{ key: null, ...none, requests: 1, automatic: 1 }]);
  });

  it('counts what was recorded in the period, also about calls of before', async () => {
    const log = history();
    const events = log.events.map((event, n) => ({ ...event, recordedAt: minute(n) }));
    const from = events.findIndex(({ type }) => type === 'ApprovalEscalated');
    const part = events.slice(from);
    const oversight = createOversight({
      by: 'tool',
      fromMs: minuteMs(from),
      toMs: minuteMs(from + 2),
      pace: defaultPace,
    });
    for (const event of part) {
      if (oversight.isLost(event)) {
        oversight.recall(events.filter(({ stream, revision }) => stream === event.stream && revision < event.revision));
      }
      oversight.add(event);
    }
    const { total } = await oversight.rows();
    expect(total).toMatchObject({ escalations: 1, decisions: 1, requests: 0, withdrawn: 0, expiries: 0 });
  });

  it('counts the answers to a question that is asked again, also after a rule had allowed the call', async () => {
    const log = createTestLog();
    const [expired, allowed] = [log.call('1'), log.call('2')];
    expired.record('ToolCallRequested');
    expired.record('ApprovalRequested');
    expired.record('ApprovalExpired');
    expired.record('ApprovalRequested', { approvalId: expired.approvalId(2), round: 2 });
    expired.record('ApprovalResponded', { approvalId: expired.approvalId(2) });
    allowed.record('ToolCallRequested');
    allowed.record('ToolCallAllowed');
    allowed.record('ApprovalRequested');
    allowed.record('ApprovalResponded');
    const { total } = await reportOn(log.events);
    expect(total).toMatchObject({ requests: 3, expiries: 1, decisions: 2, approvals: 2 });
  });

  it('sums the keys beyond the thousandth together', async () => {
    const log = createTestLog();
    for (let n = 0; n < 1_002; n += 1) {
      const call = log.call(String(n));
      call.record('ToolCallRequested', { toolName: `tool_${String(n)}` });
      call.record('ApprovalRequested');
    }
    const { rows, others, total } = await reportOn(log.events, { by: 'tool' });
    expect([rows.length, others?.keys, others?.requests, total.requests]).toEqual([1_000, 2, 2, 1_002]);
  });
});

const countable = ['decisions', 'approvals', 'edits', 'denials', 'answers', 'fastApprovals', 'requests'] as const;

describe('for any log', () => {
  it('the sums by approver, tool and rule agree', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, async (log) => {
        const events = log.events.filter(({ metadata }) => metadata.tenant === 'default');
        const reports = await Promise.all(oversightGroupings.map((by) => reportOn(events, { by })));
        const [first] = reports;
        for (const { rows, total } of reports) {
          expect(total).toEqual(first?.total);
          for (const figure of countable) expect(rows.reduce((sum, row) => sum + row[figure], 0)).toBe(total[figure]);
          expect(total.approvals + total.edits + total.denials + total.answers).toBe(total.decisions);
        }
      }),
    );
  });

  it('a report that begins in the middle counts what the whole one counts from there on', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, fc.nat(60), async (log, at) => {
        const events = log.events.map((event, n) => ({ ...event, recordedAt: minute(n) }));
        const whole = await reportOn(events, { fromMs: minuteMs(at) });
        const oversight = createOversight({ by: 'approver', fromMs: minuteMs(at), toMs: Infinity, pace: defaultPace });
        for (const event of events.slice(at)) {
          if (oversight.isLost(event)) {
            oversight.recall(events.filter((one) => one.stream === event.stream && one.revision < event.revision));
          }
          oversight.add(event);
        }
        expect(await oversight.rows()).toEqual(whole);
      }),
    );
  });
});
