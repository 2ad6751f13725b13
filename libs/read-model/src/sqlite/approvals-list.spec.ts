import { DatabaseSync } from 'node:sqlite';
import type { Risk } from '@countersign/contracts';
import type { ApprovalsPage, ApprovalsQuery, ReadModel } from '../read-model.js';
import { applyAll, opened } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute, minuteMs, requirement, stage, verdict } from '../testing/test-log.js';
import { listApprovals } from './approvals-list.js';
import type { TestLog } from '../testing/test-log.js';

const path = scratchFolder();

interface Wanted {
  readonly runId?: string;
  readonly toolName?: string;
  readonly agentId?: string;
  readonly groups?: string[] | null;
  readonly risk?: Risk | null;
  readonly labels?: Record<string, string>;
  readonly expiresAt?: string | null;
  readonly requestedAt?: string;
  readonly reason?: string | null;
  readonly ruleId?: string;
}

function ask(
  log: TestLog,
  name: string,
  { runId = 'run-1', toolName = 'refund', agentId = 'agent', groups = null, risk = null, ...more }: Wanted = {},
) {
  const call = log.call(name, { runId });
  const { labels = {}, ruleId = 'refunds', requestedAt = minute(0), expiresAt = minute(60), reason = null } = more;
  call.record('ToolCallRequested', { toolName, agentId, labels, requestedAt });
  call.record('ApprovalRequested', {
    requirement: requirement({ stages: [stage({ groups })], risk }),
    verdict: { ...verdict, ruleId },
    ...{ requestedAt, expiresAt, reason },
  });
  return call;
}

function page(model: ReadModel, query: ApprovalsQuery): Extract<ApprovalsPage, { status: 'page' }> {
  const answer = model.listApprovals('default', query);
  if (answer.status !== 'page') throw new Error(answer.status);
  return answer;
}

function names(model: ReadModel, query: ApprovalsQuery): string[] {
  return page(model, query).rows.map(({ call, approval }) => `${call.request.toolCallId}/${String(approval.round)}`);
}

describe('the list of approvals', () => {
  it('is of the pending ones, oldest first, when no state is asked', async () => {
    const log = createTestLog();
    const [first] = ['a', 'b', 'c'].map((name) => ask(log, name));
    first?.record('ApprovalResponded');
    const model = await opened(path('m.db'), log);
    expect(names(model, {})).toEqual(['b/1', 'c/1']);
    model.close();
  });

  it('ends a page early when its rows are large, and every approval is on one of the pages', async () => {
    const log = createTestLog();
    const large = 'x'.repeat(1024 * 1024);
    const calls = Array.from({ length: 20 }, (_, n) => {
      const call = log.call(`c${String(n)}`);
      call.record('ToolCallRequested', { arguments: { large } });
      call.record('ApprovalRequested');
      return call;
    });
    const model = await opened(path('m.db'), log);
    const pages = [page(model, { limit: 1000 })];
    for (let cursor = pages[0]?.nextCursor; cursor; cursor = pages.at(-1)?.nextCursor)
      pages.push(page(model, { limit: 1000, cursor }));
    expect(pages.map(({ rows }) => rows.length)).toEqual([7, 7, 6]);
    expect(pages.flatMap(({ rows }) => rows.map(({ call }) => call.request.callId))).toEqual(
      calls.map(({ callId }) => callId),
    );
    expect(model.runBytes('default', 'run-1')).toBeGreaterThan(20 * large.length);
    expect(model.runBytes('default', 'run-2')).toBe(0);
    model.close();
  });

  it('gives one approval, however large', async () => {
    const log = createTestLog();
    const call = log.call('large');
    call.record('ToolCallRequested', { arguments: { large: 'x'.repeat(9 * 1024 * 1024) } });
    call.record('ApprovalRequested');
    ask(log, 'behind');
    const model = await opened(path('m.db'), log);
    expect(names(model, { limit: 2 })).toEqual(['large/1']);
    model.close();
  });

  it('finds each state', async () => {
    const log = createTestLog();
    ask(log, 'pending');
    ask(log, 'approved').record('ApprovalResponded');
    ask(log, 'denied').record('ApprovalResponded', { decision: { type: 'deny' }, resolution: 'denied' });
    ask(log, 'expired').record('ApprovalExpired');
    ask(log, 'cancelled').record('ToolCallCancelled');
    const model = await opened(path('m.db'), log);
    for (const state of ['pending', 'approved', 'denied', 'expired', 'cancelled'] as const) {
      expect(names(model, { state })).toEqual([`${state}/1`]);
    }
    model.close();
  });

  it('shows every round of a call in the state in which it ended', async () => {
    const log = createTestLog();
    const call = ask(log, 'a');
    call.record('ApprovalExpired');
    call.record('ApprovalRequested', { round: 2, approvalId: call.approvalId(2) });
    const model = await opened(path('m.db'), log);
    expect(names(model, { state: 'expired' })).toEqual(['a/1']);
    expect(names(model, {})).toEqual(['a/2']);
    model.close();
  });

  it('filters by tool, run and agent together', async () => {
    const log = createTestLog();
    ask(log, 'a');
    ask(log, 'b', { toolName: 'drop' });
    ask(log, 'c', { agentId: 'other' });
    ask(log, 'd', { runId: 'run-2' });
    ask(log, 'e', { runId: 'run-2', toolName: 'drop' });
    const model = await opened(path('m.db'), log);
    expect(names(model, { toolName: 'drop' })).toEqual(['b/1', 'e/1']);
    expect(names(model, { agentId: 'other' })).toEqual(['c/1']);
    expect(names(model, { runId: 'run-2' })).toEqual(['d/1', 'e/1']);
    expect(names(model, { runId: 'run-2', toolName: 'drop', agentId: 'agent' })).toEqual(['e/1']);
    expect(names(model, { toolName: 'drop', agentId: 'other' })).toEqual([]);
    model.close();
  });

  it('filters by group: those that it may answer now, and those open to every approver', async () => {
    const log = createTestLog();
    ask(log, 'anybody');
    ask(log, 'ops', { groups: ['ops', 'on|call'] });
    ask(log, 'legal', { groups: ['legal'] });
    const model = await opened(path('m.db'), log);
    expect(names(model, { group: 'ops' })).toEqual(['anybody/1', 'ops/1']);
    expect(names(model, { group: 'on|call' })).toEqual(['anybody/1', 'ops/1']);
    expect(names(model, { group: 'legal' })).toEqual(['anybody/1', 'legal/1']);
    // Parts of names, and names that are joined, match nothing.
    for (const group of ['op', 'call', '|', 'ops|on|call', '%']) expect(names(model, { group })).toEqual(['anybody/1']);
    model.close();
  });

  it('filters by id, rule, risk, labels, request time and response', async () => {
    const log = createTestLog();
    ask(log, 'a', { ruleId: 'wires', labels: { team: 'ops', env: 'prod' }, requestedAt: minute(1) });
    ask(log, 'b', { risk: 'high', labels: { team: 'ops' }, requestedAt: minute(2) });
    const voted = ask(log, 'c', { risk: 'low', requestedAt: minute(3) });
    voted.record('ApprovalResponded', { resolution: 'pending', executeBy: null, respondedBy: 'al|ice' });
    const model = await opened(path('m.db'), log);
    expect(names(model, { toolCallId: 'b' })).toEqual(['b/1']);
    expect(names(model, { ruleId: 'wires' })).toEqual(['a/1']);
    expect(names(model, { risk: 'high' })).toEqual(['b/1']);
    expect(names(model, { labels: { team: 'ops' } })).toEqual(['a/1', 'b/1']);
    expect(names(model, { labels: { team: 'ops', env: 'prod' } })).toEqual(['a/1']);
    expect(names(model, { labels: { toString: 'ops' } })).toEqual([]);
    expect(names(model, { sinceMs: minuteMs(2) })).toEqual(['b/1', 'c/1']);
    expect(names(model, { sinceMs: minuteMs(1), untilMs: minuteMs(2) })).toEqual(['a/1', 'b/1']);
    expect(names(model, { respondedBy: 'al|ice' })).toEqual(['c/1']);
    for (const respondedBy of ['al', 'alice', '|']) expect(names(model, { respondedBy })).toEqual([]);
    voted.record('ResponseWithdrawn', { withdrawnBy: 'al|ice' });
    applyAll(model, log);
    expect(names(model, { respondedBy: 'al|ice' })).toEqual([]);
    model.close();
  });

  it('finds words in what everybody sees, and not in arguments', async () => {
    const log = createTestLog();
    ask(log, 'a', { toolName: 'Wire_Transfer', runId: 'run-7', agentId: 'billing', reason: 'Grüße an Kunde 4711' });
    ask(log, 'b');
    const model = await opened(path('m.db'), log);
    for (const words of [['wire'], ['TRANSFER', '4711'], ['run-7', 'bill', 'gru\u0308ße'], ['refund', 'wire'], []])
      expect(names(model, { words })).toContain('a/1');
    expect(names(model, { words: ['wire', 'absent'] })).toEqual([]);
    expect(names(model, { words: ['amount'] })).toEqual([]);
    model.close();
  });

  it('follows the stages and escalations of an approval', async () => {
    const log = createTestLog();
    const call = log.call('a');
    call.record('ToolCallRequested');
    const stages = [stage({ groups: ['ops'] }), stage({ groups: ['legal'] })];
    call.record('ApprovalRequested', { requirement: requirement({ stages }) });
    const model = await opened(path('m.db'), log);
    const who = () => ['ops', 'legal', 'managers'].filter((group) => names(model, { group }).length > 0);
    expect(who()).toEqual(['ops']);
    call.record('ApprovalResponded', { resolution: 'pending', executeBy: null });
    applyAll(model, log);
    expect(who()).toEqual(['legal']);
    call.record('ApprovalEscalated');
    applyAll(model, log);
    expect(who()).toEqual(['legal', 'managers']);
    model.close();
  });
});

describe('paging', () => {
  async function walk(
    model: ReadModel,
    query: ApprovalsQuery,
    between: () => void = () => undefined,
  ): Promise<string[]> {
    const found: string[] = [];
    let cursor: string | undefined;
    for (;;) {
      const { rows, nextCursor } = page(model, { ...query, cursor });
      found.push(...rows.map(({ call }) => call.request.toolCallId));
      between();
      await Promise.resolve();
      if (nextCursor === null) return found;
      cursor = nextCursor;
    }
  }

  it('visits each once from the newest to the oldest, pending and ended, while newer ones come', async () => {
    const log = createTestLog();
    const calls = Array.from({ length: 25 }, (_, n) => ask(log, `old_${String(n)}`));
    const model = await opened(path('m.db'), log);
    let turn = 0;
    const latestFirst = calls.map((_, n) => `old_${String(n)}`).reverse();
    const found = await walk(model, { limit: 4, order: 'newest' }, () => {
      ask(log, `new_${String((turn += 1))}`);
      applyAll(model, log);
    });
    expect(found).toEqual(latestFirst);
    for (const call of calls) call.record('ApprovalResponded');
    applyAll(model, log);
    expect(await walk(model, { limit: 7, order: 'newest', state: 'approved' })).toEqual(latestFirst);
    expect(await walk(model, { limit: 7, order: 'oldest', state: 'approved' })).toEqual(latestFirst.toReversed());
    model.close();
  });

  it.each([
    ['expiresAt', ['e', 'b', 'a', 'd', 'c']],
    ['risk', ['e', 'c', 'b', 'd', 'a']],
    ['requestedAt', ['a', 'b', 'c', 'd', 'e']],
  ] as const)('sorts by %s in both orders, one by one, while newer ones come', async (sort, inOrder) => {
    const log = createTestLog();
    ask(log, 'a', { expiresAt: minute(20) });
    ask(log, 'b', { expiresAt: minute(10), risk: 'medium' });
    ask(log, 'c', { expiresAt: null, risk: 'high' });
    ask(log, 'd', { expiresAt: minute(20), risk: 'low' });
    ask(log, 'e', { expiresAt: minute(5), risk: 'high' });
    const model = await opened(path('m.db'), log);
    const old = (found: readonly string[]) => found.filter((name) => !name.startsWith('new'));
    let turn = 0;
    const between = () => {
      if (turn < 8) ask(log, `new-${String((turn += 1))}`, { risk: 'high', expiresAt: minute(turn) });
      applyAll(model, log);
    };
    expect(await walk(model, { sort, limit: 1 })).toEqual(inOrder);
    expect(await walk(model, { sort, limit: 1, order: 'newest' })).toEqual(inOrder.toReversed());
    expect(old(await walk(model, { sort, limit: 1 }, between))).toEqual(inOrder);
    expect(old(await walk(model, { sort, limit: 3 }))).toEqual(inOrder);
    const { nextCursor } = page(model, { sort, limit: 1 });
    const other = sort === 'risk' ? 'expiresAt' : 'risk';
    expect(model.listApprovals('default', { sort: other, cursor: nextCursor ?? '' })).toEqual({
      status: 'invalid-cursor',
    });
    model.close();
  });

  it('reads 2,000 rows for a page at most, and leads on to a match behind them', async () => {
    const log = createTestLog();
    for (let n = 0; n < 2000; n += 1) ask(log, `call_${String(n)}`);
    ask(log, 'last', { labels: { team: 'ops' } });
    const model = await opened(path('m.db'), log);
    const first = page(model, { labels: { team: 'ops' } });
    expect(first.rows).toEqual([]);
    expect(first.nextCursor).not.toBeNull();
    expect(await walk(model, { labels: { team: 'ops' } })).toEqual(['last']);
    model.close();
  });

  it('walks its index in both orders and sorts nothing', async () => {
    const model = await opened(path('m.db'), createTestLog());
    model.flush();
    model.close();
    const database = new DatabaseSync(path('m.db'));
    database.function('opened', (stored) => stored);
    for (const state of ['pending', 'approved'] as const) {
      for (const order of ['oldest', 'newest'] as const) {
        let plan: readonly string[] = [];
        const query = { state, order, toolName: 'refund', limit: 10 };
        listApprovals(
          (sql) => {
            const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all('default', 0, 'refund', 10);
            plan = steps.map(({ detail }) => String(detail));
            return database.prepare(sql);
          },
          'default',
          query,
          0,
        );
        const index = state === 'pending' ? 'approvals_pending' : 'approvals_ended';
        for (const sort of ['expiresAt', 'risk'] as const) {
          const plans: string[] = [];
          const explained = (sql: string) => {
            const given = ['default', 0, 0, ...(sort === 'risk' ? [3] : []), 10];
            plans.push(
              ...database
                .prepare(`EXPLAIN QUERY PLAN ${sql}`)
                .all(...given)
                .map(({ detail }) => String(detail)),
            );
            return database.prepare(sql);
          };
          listApprovals(explained, 'default', { state, order, sort, limit: 10 }, 0);
          expect(plans.some((detail) => detail.startsWith('SEARCH a USING INDEX'))).toBe(true);
          expect(plans.filter((detail) => /TEMP B-TREE|SCAN/.test(detail))).toEqual([]);
        }
        expect(plan[0]).toMatch(new RegExp(`^SEARCH a USING INDEX ${index} \\(.*seq[<>]\\?`));
        expect(plan.filter((detail) => /TEMP B-TREE|SCAN/.test(detail))).toEqual([]);
      }
    }
    database.close();
  });

  it('visits each of 10,000 once, in order', async () => {
    const log = createTestLog();
    const all = Array.from({ length: 10_000 }, (_, n) => `call_${String(n)}`);
    for (const name of all) ask(log, name);
    const model = await opened(path('m.db'), log);
    expect(await walk(model, { limit: 100 })).toEqual(all);
    expect(await walk(model, { limit: 999, toolName: 'refund' })).toEqual(all);
    model.close();
  });

  it('neither repeats nor skips while others come and go', async () => {
    const log = createTestLog();
    const calls = Array.from({ length: 20 }, (_, n) => ask(log, `old_${String(n)}`));
    const model = await opened(path('m.db'), log);
    let turn = 0;
    const found = await walk(model, { limit: 4 }, () => {
      // Between any two pages, one shown approval is resolved and one is added.
      calls[turn]?.record('ApprovalResponded');
      if (turn < 5) ask(log, `new_${String(turn)}`);
      turn += 1;
      applyAll(model, log);
    });
    const old = calls.map((_, n) => `old_${String(n)}`);
    expect(found).toEqual([...old, 'new_0', 'new_1', 'new_2', 'new_3', 'new_4']);
    model.close();
  });

  it('ends with null exactly when nothing follows', async () => {
    const log = createTestLog();
    for (const name of ['a', 'b', 'c', 'd']) ask(log, name);
    const model = await opened(path('m.db'), log);
    const first = page(model, { limit: 2 });
    const second = page(model, { limit: 2, cursor: first.nextCursor ?? undefined });
    expect(first.nextCursor).not.toBeNull();
    expect(second).toMatchObject({ nextCursor: null, position: 8 });
    expect(second.rows).toHaveLength(2);
    expect(page(model, { limit: 4 }).nextCursor).toBeNull();
    model.close();
  });

  it('answers 100 when no limit is given', async () => {
    const log = createTestLog();
    for (let n = 0; n < 101; n += 1) ask(log, `call_${String(n)}`);
    const model = await opened(path('m.db'), log);
    expect(page(model, {}).rows).toHaveLength(100);
    model.close();
  });

  it.each([
    '',
    'x',
    Buffer.from('2.approvals').toString('base64url'),
    Buffer.from('1.approvals.1').toString('base64url'),
    Buffer.from('2.approvals.01').toString('base64url'),
    `${Buffer.from('2.approvals.1').toString('base64url')} `,
    `${Buffer.from('2.approvals.1').toString('base64url')}=`,
  ])('refuses the cursor %j, which it never gave', async (cursor) => {
    const model = await opened(path('m.db'), createTestLog());
    expect(model.listApprovals('default', { cursor })).toEqual({ status: 'invalid-cursor' });
    model.close();
  });
});
