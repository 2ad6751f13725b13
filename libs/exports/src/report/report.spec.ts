import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { toEventView } from '@countersign/contracts';
import type { JsonObject, LogEventView, RecordedEvent } from '@countersign/contracts';
import { createReportFold } from './fold.js';
import { reportPage } from './html.js';
import { reportLists } from './rows.js';
import type { PrintedList } from './html.js';
import type { ReportList, ReportRow } from './rows.js';

const golden = join(import.meta.dirname, '../../../contracts/src/golden');
let position = 0;

/** An event as it is stored, with other members, recorded so many seconds after the first one. */
function event(type: string, seconds: number, data: JsonObject = {}): LogEventView {
  const stored = JSON.parse(readFileSync(join(golden, `${type}.v2.json`), 'utf8')) as RecordedEvent;
  position += 1;
  const recordedAt = new Date(Date.UTC(2030, 0, 1) + seconds * 1_000).toISOString();
  const times = ['requestedAt', 'respondedAt', 'escalatedAt'].filter((name) => name in stored.data);
  const at = Object.fromEntries(times.map((name) => [name, recordedAt]));
  const changed = { ...stored, position, recordedAt, data: { ...stored.data, ...at, ...data } } as RecordedEvent;
  return toEventView(changed, 'masked');
}

const answer = (seconds: number, respondedBy: string, data: JsonObject): LogEventView =>
  event('ApprovalResponded', seconds, {
    ...{ respondedBy, onBehalfOf: null, automatic: false, proposal: 1, shown: 'sha256:00', bulkId: null },
    ...data,
  });

function reported(...events: readonly LogEventView[]) {
  const lists = new Map<ReportList, ReportRow[]>();
  const report = createReportFold((list, row) => void lists.set(list, [...(lists.get(list) ?? []), row]));
  for (const one of events) report.take(one);
  return (list: ReportList): readonly ReportRow[] => lists.get(list) ?? [];
}

function requirementOf(stages: JsonObject[]): JsonObject {
  const { requirement } = event('ApprovalRequested', 0).data as { readonly requirement: JsonObject };
  return { ...requirement, stages };
}

const asked = () => [
  event('ToolCallRequested', 0, { arguments: { amount: 5 }, sensitive: [] }),
  event('ApprovalRequested', 1),
];

describe('the lists of a report', () => {
  it('say who approved what, when, and having been shown which arguments', () => {
    const rows = reported(...asked(), answer(121, 'alice', { decision: { type: 'approve' }, resolution: 'approved' }));
    expect(rows('decisions')).toEqual([
      expect.objectContaining({
        ...{ person: 'alice', decision: 'approve', resolution: 'approved', arguments: '{"amount":5}', seconds: 120 },
        ...{ shown: 'sha256:00', recordedAt: '2030-01-01T00:02:01.000Z', onBehalfOf: null },
      }),
    ]);
    for (const list of ['fast', 'bulk', 'edited', 'unshown', 'delegated', 'silence'] as const)
      expect(rows(list)).toEqual([]);
  });

  it('name the exceptions, each in its list', () => {
    const edit = {
      decision: { type: 'edit', arguments: { amount: 9 }, sensitive: [], salt: '00', requirement: null, clock: null },
      proposal: 2,
      resolution: 'pending',
    };
    const rows = reported(
      ...asked(),
      answer(60, 'alice', { ...edit, shown: null, bulkId: 'b' }),
      answer(61, 'bob', { decision: { type: 'approve' }, proposal: 2, resolution: 'approved', onBehalfOf: 'carol' }),
      event('ResponseWithdrawn', 62),
      event('ValuesRevealed', 63),
      event('ExecutionOutcomeUnknown', 64),
      event('ExecutionReconciled', 65),
    );
    expect(rows('decisions').map(({ arguments: shown }) => shown)).toEqual(['{"amount":9}', '{"amount":9}']);
    expect(rows('edited')).toEqual([expect.objectContaining({ person: 'bob', arguments: '{"amount":9}' })]);
    // One second after the edit, not a minute after the question.
    expect(rows('fast')).toEqual([expect.objectContaining({ person: 'bob', seconds: 1 })]);
    expect(rows('delegated')).toEqual([expect.objectContaining({ person: 'bob', onBehalfOf: 'carol' })]);
    expect(rows('unshown').map(({ person }) => person)).toEqual(['alice']);
    expect(rows('bulk').map(({ person }) => person)).toEqual(['alice']);
    expect(rows('withdrawn')).toHaveLength(1);
    expect(rows('reveals')).toHaveLength(1);
    expect(rows('unknown').map(({ what }) => what)).toEqual(['ExecutionOutcomeUnknown', 'ExecutionReconciled']);
  });

  it('count a fast approval from when its person could give it: a stage, an escalation, a message', () => {
    const stage = (group: string) => ({ mode: 'quorum', approve: 1, deny: 1, groups: [group] });
    const requirement = (...groups: string[]): JsonObject => ({ requirement: requirementOf(groups.map(stage)) });
    const approve = (seconds: number, who: string, group: string, more: JsonObject = {}) =>
      answer(seconds, who, { decision: { type: 'approve' }, resolution: 'pending', groups: [group], ...more });
    const request = event('ToolCallRequested', 0, { arguments: { amount: 5 }, sensitive: [] });
    const stages = event('ApprovalRequested', 1, requirement('ops', 'legal'));
    const second = reported(request, stages, approve(60, 'alice', 'ops'), approve(61, 'lena', 'legal'));
    expect(second('fast')).toEqual([expect.objectContaining({ person: 'lena', seconds: 1 })]);

    const one = event('ApprovalRequested', 1, requirement('ops'));
    const { approvalId } = one.data as { readonly approvalId: string };
    const escalated = event('ApprovalEscalated', 60, { approvalId, to: ['managers'], requirement: 0 });
    const manager = reported(request, one, escalated, approve(61, 'mia', 'managers'));
    expect(manager('fast')).toEqual([expect.objectContaining({ person: 'mia', seconds: 1 })]);
    expect(reported(request, one, escalated, approve(61, 'alice', 'ops'))('fast')).toEqual([]);

    const shown = event('NotificationDelivered', 60, { channelId: 'chat', deliveredAt: '2030-01-01T00:01:00.000Z' });
    const inChat = { ...shown, callId: request.callId };
    const presser = reported(request, one, inChat, approve(61, 'alice', 'ops', { via: 'chat' }));
    expect(presser('fast')).toEqual([expect.objectContaining({ person: 'alice', seconds: 60 })]);
  });

  it('keep silence apart from decisions, and count the decisions between two changes of rights', () => {
    const rows = reported(
      ...asked(),
      event('ConfigurationChanged', 2),
      answer(30, 'countersign', { automatic: true, decision: { type: 'approve' }, resolution: 'approved' }),
      ...asked(),
      answer(31, 'alice', { decision: { type: 'deny' }, resolution: 'denied' }),
      event('PolicyActivated', 32),
    );
    expect(rows('silence')).toHaveLength(1);
    expect(rows('decisions').map(({ decision }) => decision)).toEqual(['deny']);
    expect(rows('changes').map(({ decisionsBefore }) => decisionsBefore)).toEqual([0, 1]);
  });

  it('list each change of rights, rules, keys and of where the log goes on', () => {
    const types = [
      ...['ConfigurationChanged', 'ShadowPolicyActivated', 'GrantProposed', 'PasskeyRegistered', 'PasskeyConfirmed'],
      ...[
        'PasskeyRemoved',
        'StopDeclared',
        'StopLifted',
        'KeysRotated',
        'LogKeyChanged',
        'LogEndAccepted',
        'LogRestored',
      ],
    ];
    const rows = reported(...types.map((type, at) => event(type, at)));
    expect(rows('changes').map(({ what }) => String(what).split(':')[0])).toEqual(types);
  });

  it('say nothing of the arguments of a call that was requested before the period', () => {
    const rows = reported(answer(5, 'alice', { decision: { type: 'approve' }, resolution: 'approved' }));
    expect(rows('decisions')).toEqual([expect.objectContaining({ arguments: null, seconds: null })]);
    expect(rows('fast')).toEqual([]);
  });
});

it('the page leads from each figure to its list and its file, and nothing in it is markup of others', () => {
  const hostile = '<script>alert(1)</script>"\'&';
  const lists = new Map<ReportList, PrintedList>(
    (Object.keys(reportLists) as ReportList[]).map((list) => [
      list,
      {
        rows: list === 'fast' ? 2_000 : 0,
        shown: list === 'fast' ? [{ person: hostile, seconds: 1 }] : [],
        file: `${list}.csv`,
      },
    ]),
  );
  const head = { tenant: hostile, since: null, until: null, madeAt: '2030-01-01T00:00:00.000Z', checkpoint: hostile };
  const page = reportPage(head, lists);
  expect(page).not.toContain('<script');
  expect(page).toContain('&#60;script&#62;alert(1)&#60;/script&#62;&#34;&#39;&#38;');
  expect(page).toContain('<a href="#fast">');
  expect(page).toContain('<h2 id="fast">');
  expect(page).toContain('<a href="fast.csv">');
  expect(page).toContain('The first 1 are below.');
});
