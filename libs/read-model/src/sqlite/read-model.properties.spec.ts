import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { RecordedEvent } from '@countersign/contracts';
import { approvalStates, isSettled } from '@countersign/contracts';
import { groupsAsked, queuedIn } from '@countersign/domain';
import { createSilentLog } from '@countersign/runtime/testing';
import { isShown } from '../call-row.js';
import type { CallRow } from '../call-row.js';
import { evolve } from '../evolve.js';
import type { ApprovalOfCall, ApprovalsQuery, CallsQuery, OpenRun, ReadModel } from '../read-model.js';
import { arbitraryLog, groupSizes, inGroups } from '../testing/arbitrary-log.js';
import { opened, tight } from '../testing/opened.js';
import { createTestLog, minuteMs } from '../testing/test-log.js';
import { verifyReadModel } from './verify.js';

async function inScratch(work: (file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-properties-'));
  try {
    await work(join(folder, 'm.db'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The whole model in one map: the expected answer of every query, computed in the simplest way. */
function replay(events: readonly RecordedEvent[]): CallRow[] {
  const rows = new Map<string, CallRow>();
  for (const event of events) {
    if (event.metadata.callId === null) continue;
    const row = evolve(rows.get(event.stream), event);
    if (row !== undefined) rows.set(event.stream, row);
  }
  return [...rows.values()].sort((one, other) => one.seq - other.seq);
}

/** Returns the value as the file has it, without members that JSON omits. */
function asStored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

/** The position at which an approval was requested. */
function seqOf({ call, approval }: ApprovalOfCall): number {
  return call.approvalSeqs[call.approvals.indexOf(approval)] ?? 0;
}

function approvalsOf(rows: readonly CallRow[], tenant: string, query: ApprovalsQuery): ApprovalOfCall[] {
  const { state = 'pending', toolName, runId, agentId, group } = query;
  return rows
    .flatMap((call) => call.approvals.map((approval) => ({ call, approval })))
    .filter(({ call: { request }, approval }) => {
      const asked = groupsAsked(approval);
      return (
        request.tenant === tenant &&
        approval.resolution.status === state &&
        request.toolName === (toolName ?? request.toolName) &&
        request.runId === (runId ?? request.runId) &&
        request.agentId === (agentId ?? request.agentId) &&
        (group === undefined || asked === null || asked.includes(group))
      );
    })
    .sort((one, other) => seqOf(one) - seqOf(other));
}

function allPages(model: ReadModel, tenant: string, query: ApprovalsQuery): ApprovalOfCall[] {
  const found: ApprovalOfCall[] = [];
  let cursor: string | undefined;
  do {
    const page = model.listApprovals(tenant, { ...query, limit: 2, cursor });
    if (page.status !== 'page') throw new Error(page.status);
    found.push(...page.rows);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

function allCalls(model: ReadModel, tenant: string, states: CallsQuery['states']): CallRow[] {
  const found: CallRow[] = [];
  let cursor: string | undefined;
  do {
    const page = model.listCalls(tenant, { states, limit: 2, cursor });
    if (page.status !== 'page') throw new Error(page.status);
    found.push(...page.rows);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}

function openRuns(model: ReadModel, tenant: string): readonly OpenRun[] {
  const page = model.listRuns(tenant, { limit: 1000 });
  if (page.status !== 'page') throw new Error(page.status);
  return page.rows;
}

function openRunsOf(rows: readonly CallRow[], events: readonly RecordedEvent[]): OpenRun[] {
  const byRun = Map.groupBy(rows, ({ request }) => [request.runId, request.agentId, request.requestedBy].join(' '));
  const runs = [...byRun.values()].flatMap((calls) => {
    const [first] = calls.toSorted((one, other) => one.seq - other.seq);
    const openCalls = calls.filter(({ state }) => !isSettled(state)).length;
    if (first === undefined || openCalls === 0) return [];
    const { runId, agentId, requestedBy } = first.request;
    const approvals = calls.flatMap((call) => call.approvals);
    const pendingApprovals = approvals.filter(({ resolution }) => resolution.status === 'pending').length;
    const ids = new Set(calls.map(({ request }) => request.callId));
    const lastEventAt = events.findLast(({ metadata }) => ids.has(metadata.callId ?? ''))?.recordedAt ?? '';
    return [{ seq: first.seq, run: { runId, agentId, requestedBy, openCalls, pendingApprovals, lastEventAt } }];
  });
  return runs.sort((one, other) => other.seq - one.seq).map(({ run }) => run);
}

const queries: readonly ApprovalsQuery[] = [
  ...approvalStates.map((state) => ({ state })),
  { toolName: 'tool_1' },
  { runId: 'run-1', state: 'expired' },
  { agentId: 'billing-agent', group: 'ops' },
  { group: 'managers' },
];

function expectSame(model: ReadModel, events: readonly RecordedEvent[]): void {
  const rows = replay(events);
  const dueAts = rows.flatMap(({ dueAt }) => dueAt ?? []);
  expect(model.nextDueAt()).toBe(dueAts.length === 0 ? null : Math.min(...dueAts));
  for (const row of rows) {
    const { tenant, callId, requestedBy } = row.request;
    expect(asStored(model.toolCall(tenant, callId) ?? null)).toEqual(asStored(isShown(row) ? row : null));
    expect(model.requesterOf(tenant, callId)).toBe(requestedBy);
  }
  for (const tenant of ['default', 'other']) {
    for (const query of queries)
      expect(asStored(allPages(model, tenant, query))).toEqual(asStored(approvalsOf(rows, tenant, query)));
    const inRun = rows.filter(({ request }) => request.tenant === tenant && request.runId === 'run-0');
    expect(asStored(model.run(tenant, 'run-0'))).toEqual(asStored(inRun.filter(isShown)));
    const ofTenant = rows.filter(({ request }) => request.tenant === tenant);
    for (const states of [undefined, ['unknown', 'awaiting_approval', 'approved'] as const]) {
      const expected = ofTenant.filter((row) => isShown(row) && (states?.some((one) => one === row.state) ?? true));
      const newestFirst = expected.toSorted((one, other) => other.seq - one.seq);
      expect(asStored(allCalls(model, tenant, states))).toEqual(asStored(newestFirst));
    }
    expect(openRuns(model, tenant)).toEqual(openRunsOf(ofTenant, events));
    const open = inRun.filter(({ state }) => !isSettled(state));
    const { calls, requesters } = model.openCallsOfRun(tenant, 'run-0');
    const listed = open.map((call) => {
      const { callId, requestedBy } = call.request;
      return { callId, requestedBy, ...(queuedIn(call) === undefined ? {} : { waitsForTurn: true }) };
    });
    expect(calls).toEqual(listed);
    expect(new Set(requesters)).toEqual(new Set(inRun.map(({ request }) => request.requestedBy)));
  }
  const dueSoon = dueAts.filter((dueAt) => dueAt <= minuteMs(20)).sort((one, other) => one - other);
  expect(model.due(minuteMs(20), 100).map(({ dueAt }) => dueAt)).toEqual(dueSoon);
  const pending = rows
    .flatMap((call) => call.approvals.map((approval) => ({ call, approval })))
    .filter(({ approval }) => approval.resolution.status === 'pending')
    .sort((one, other) => seqOf(one) - seqOf(other));
  expect(model.tenants()).toEqual([...new Set(rows.map(({ request }) => request.tenant))].sort());
  expect(model.stats()).toMatchObject({
    calls: rows.length,
    approvals: rows.flatMap(({ approvals }) => approvals).length,
    pendingApprovals: pending.length,
    unknownOutcomes: rows.filter(({ state }) => state === 'unknown').length,
    oldestPendingAt: pending[0]?.approval.requestedAt ?? null,
  });
}

describe('any log, in batches of any size', () => {
  it('every query answers as a plain replay does, at any moment', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, groupSizes, (log, sizes) =>
        inScratch(async (file) => {
          const model = await opened(file, createTestLog(), { bounds: tight });
          const groups = inGroups(log.events, sizes);
          groups.forEach((group, index) => {
            model.apply(group);
            const last = group.at(-1)?.position ?? 0;
            const soFar = log.events.filter(({ position }) => position <= last);
            // Deadlines after every group: they are kept, not looked up.
            const dueAts = replay(soFar).flatMap(({ dueAt }) => dueAt ?? []);
            expect(model.nextDueAt()).toBe(dueAts.length === 0 ? null : Math.min(...dueAts));
            if (index % 5 === 4) expectSame(model, soFar);
          });
          expectSame(model, log.events);
          model.close();
        }),
      ),
      { numRuns: 60 },
    );
  });

  it('the live file is the one that a rebuild gives', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, groupSizes, (log, sizes) =>
        inScratch(async (file) => {
          const model = await opened(file, createTestLog(), { bounds: tight });
          for (const group of inGroups(log.events, sizes)) model.apply(group);
          model.close();
          const answer = await verifyReadModel({ file, source: log.source, log: createSilentLog() });
          expect(answer).toMatchObject({ same: true, differences: [] });
        }),
      ),
      { numRuns: 60 },
    );
  });

  it('a kill at any moment loses nothing that the log has', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLog, groupSizes, fc.nat(60), (log, sizes, killedAfter) =>
        inScratch(async (file) => {
          const killed = await opened(file, createTestLog(), { bounds: tight });
          for (const group of inGroups(log.events.slice(0, killedAfter), sizes)) killed.apply(group);
          // Never closed: the file has what was flushed, and the next process starts from there.
          const model = await opened(file, log, { bounds: tight });
          expectSame(model, log.events);
          model.close();
        }),
      ),
      { numRuns: 40 },
    );
  });
});
