import { DatabaseSync } from 'node:sqlite';
import { toolCallStates } from '@countersign/contracts';
import type { CallsQuery, OpenRun, Page, ReadModel } from '../read-model.js';
import type { CallRow } from '../call-row.js';
import { applyAll, opened } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minuteMs, minute } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';
import { listCalls, listRuns } from './calls-list.js';

const path = scratchFolder();

function allow(log: TestLog, name: string, change: Readonly<Record<string, string>> = {}) {
  const call = log.call(name, { runId: change['runId'] ?? 'run-1' });
  const { runId: _, ...request } = change;
  call.record('ToolCallRequested', request);
  call.record('ToolCallAllowed');
  return call;
}

function pageOf<Row>(page: Page<Row>): Extract<Page<Row>, { status: 'page' }> {
  if (page.status !== 'page') throw new Error(page.status);
  return page;
}

const names = (rows: readonly CallRow[]): string[] => rows.map(({ request }) => request.toolCallId);
const listed = (model: ReadModel, query: CallsQuery): string[] => names(pageOf(model.listCalls('default', query)).rows);
const runs = (model: ReadModel, agentId?: string, requestedBy?: string): readonly OpenRun[] =>
  pageOf(model.listRuns('default', { agentId, requestedBy })).rows;

describe('the list of calls', () => {
  it('has every state, newest first, when none is named', async () => {
    const log = createTestLog();
    allow(log, 'allowed');
    allow(log, 'executing').record('ExecutionClaimed');
    const unknown = allow(log, 'unknown');
    unknown.record('ExecutionClaimed');
    unknown.record('ExecutionOutcomeUnknown');
    const asked = log.call('asked');
    asked.record('ToolCallRequested');
    asked.record('ApprovalRequested');
    const model = await opened(path('m.db'), log);
    expect(listed(model, {})).toEqual(['asked', 'unknown', 'executing', 'allowed']);
    expect(listed(model, { order: 'oldest' })).toEqual(['allowed', 'executing', 'unknown', 'asked']);
    expect(listed(model, { states: ['unknown'] })).toEqual(['unknown']);
    expect(listed(model, { states: ['allowed', 'awaiting_approval', 'allowed'] })).toEqual(['asked', 'allowed']);
    expect(listed(model, { states: ['denied'] })).toEqual([]);
    expect(model.stats().unknownOutcomes).toBe(1);
    unknown.record('ExecutionReconciled');
    applyAll(model, log);
    expect(listed(model, { states: ['unknown'] })).toEqual([]);
    expect(model.stats().unknownOutcomes).toBe(0);
    model.close();
  });

  it('filters by tool, run, agent, principal and time together', async () => {
    const log = createTestLog();
    allow(log, 'a', { toolName: 'drop', requestedAt: minute(5) });
    allow(log, 'b', { runId: 'run-2', requestedBy: 'other' });
    allow(log, 'c', { agentId: 'scout', requestedAt: minute(5) });
    const model = await opened(path('m.db'), log);
    expect(listed(model, { toolName: 'drop' })).toEqual(['a']);
    expect(listed(model, { runId: 'run-2' })).toEqual(['b']);
    expect(listed(model, { agentId: 'scout' })).toEqual(['c']);
    expect(listed(model, { requestedBy: 'other' })).toEqual(['b']);
    expect(listed(model, { sinceMs: minuteMs(5) })).toEqual(['c', 'a']);
    expect(listed(model, { sinceMs: minuteMs(5), toolName: 'drop', agentId: 'scout' })).toEqual([]);
    expect(pageOf(model.listCalls('other', {})).rows).toEqual([]);
    model.close();
  });

  it('hides a call while only a part of its request has arrived', async () => {
    const log = createTestLog();
    log.call('half').record('ToolCallRequested');
    const model = await opened(path('m.db'), log);
    expect(listed(model, {})).toEqual([]);
    model.close();
  });

  it('visits each call once while new ones come and the states of others change', async () => {
    const log = createTestLog();
    const calls = Array.from({ length: 20 }, (_, n) => allow(log, `old_${String(n)}`));
    const model = await opened(path('m.db'), log);
    const found: string[] = [];
    let cursor: string | undefined;
    for (let turn = 0; ; turn += 1) {
      const { rows, nextCursor } = pageOf(model.listCalls('default', { limit: 3, cursor }));
      found.push(...names(rows));
      if (nextCursor === null) break;
      cursor = nextCursor;
      allow(log, `new_${String(turn)}`);
      calls[turn]?.record('ExecutionClaimed');
      applyAll(model, log);
    }
    expect(found).toEqual(calls.map((_, n) => `old_${String(n)}`).reverse());
    model.close();
  });

  it('ends a page early when its rows are large', async () => {
    const log = createTestLog();
    for (let n = 0; n < 10; n += 1) {
      const call = log.call(`c${String(n)}`);
      call.record('ToolCallRequested', { arguments: { large: 'x'.repeat(1024 * 1024) } });
      call.record('ToolCallAllowed');
    }
    const model = await opened(path('m.db'), log);
    const first = pageOf(model.listCalls('default', { limit: 1000 }));
    expect(first.rows).toHaveLength(7);
    expect(pageOf(model.listCalls('default', { cursor: first.nextCursor ?? '' })).rows).toHaveLength(3);
    expect(model.listCalls('default', { cursor: 'x' })).toEqual({ status: 'invalid-cursor' });
    expect(model.listRuns('default', { cursor: 'x' })).toEqual({ status: 'invalid-cursor' });
    model.close();
  });

  it('merges the states by their index and sorts nothing', async () => {
    const model = await opened(path('m.db'), createTestLog());
    model.flush();
    model.close();
    const database = new DatabaseSync(path('m.db'));
    database.function('opened', (stored) => stored);
    const plans: string[] = [];
    const explained = (sql: string) => {
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      plans.push(...plan.map(({ detail }) => String(detail)));
      return database.prepare(sql);
    };
    for (const order of ['oldest', 'newest'] as const) {
      for (const states of [toolCallStates, ['unknown'] as const])
        listCalls(explained, 'default', { order, states, toolName: 'refund' }, 0);
    }
    listRuns(explained, 'default', { agentId: 'agent' }, 0);
    const bySteps = plans.filter((detail) =>
      /SEARCH calls USING COVERING INDEX calls_by_state \(.*seq[<>]\?/.test(detail),
    );
    expect(bySteps).toHaveLength(2 * (toolCallStates.length + 1));
    expect(plans.filter((detail) => /TEMP B-TREE|SCAN (?!found)/.test(detail))).toEqual([]);
    expect(plans.some((detail) => /SEARCH runs USING COVERING INDEX runs_open/.test(detail))).toBe(true);
    database.close();
  });
});

describe('the list of runs', () => {
  it('has what each agent and principal has open in a run, the run begun last first', async () => {
    const log = createTestLog();
    const first = allow(log, 'a');
    const asked = log.call('b');
    asked.record('ToolCallRequested');
    asked.record('ApprovalRequested');
    allow(log, 'c', { runId: 'run-2', agentId: 'scout', requestedBy: 'other' });
    allow(log, 'd', { requestedBy: 'other' });
    const model = await opened(path('m.db'), log);
    const counts = (rows: readonly OpenRun[]) =>
      rows.map(({ runId, agentId, requestedBy, openCalls, pendingApprovals }) =>
        [runId, agentId, requestedBy, openCalls, pendingApprovals].join(' '),
      );
    expect(counts(runs(model))).toEqual([
      'run-1 billing-agent other 1 0',
      'run-2 scout other 1 0',
      'run-1 billing-agent agent 2 1',
    ]);
    expect(counts(runs(model, 'scout'))).toEqual(['run-2 scout other 1 0']);
    expect(counts(runs(model, undefined, 'agent'))).toEqual(['run-1 billing-agent agent 2 1']);
    asked.record('ApprovalExpired');
    first.record('ExecutionClaimed');
    applyAll(model, log);
    expect(counts(runs(model, undefined, 'agent'))).toEqual(['run-1 billing-agent agent 1 0']);
    expect(runs(model, undefined, 'agent')[0]?.lastEventAt).toBe(log.events.at(-1)?.recordedAt);
    first.record('ExecutionSucceeded');
    applyAll(model, log);
    expect(runs(model, undefined, 'agent')).toEqual([]);
    model.close();
  });

  it('visits each run once in pages', async () => {
    const log = createTestLog();
    for (let n = 0; n < 7; n += 1) allow(log, 'a', { runId: `run-${String(n)}` });
    const model = await opened(path('m.db'), log);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { rows, nextCursor } = pageOf(model.listRuns('default', { limit: 3, cursor }));
      found.push(...rows.map(({ runId }) => runId));
      cursor = nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(found).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `run-${String(n)}`));
    model.close();
  });
});
