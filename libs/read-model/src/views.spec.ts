import { approvalViewSchema, runViewSchema, toolCallViewSchema } from '@countersign/contracts';
import type { CallRow } from './call-row.js';
import { evolve } from './evolve.js';
import { createTestLog, digestOf, verdict } from './testing/test-log.js';
import type { TestCall } from './testing/test-log.js';
import { toApprovalView, toRunView, toToolCallView } from './views.js';

function rowsOf(...scripts: ((call: TestCall) => void)[]): CallRow[] {
  const log = createTestLog();
  scripts.forEach((script, index) => {
    script(log.call(`call_${String(index + 1)}`));
  });
  const rows = new Map<string, CallRow>();
  for (const event of log.events) {
    const row = evolve(rows.get(event.stream), event);
    if (row !== undefined) rows.set(event.stream, row);
  }
  return [...rows.values()];
}

const secret = 'hunter2';

function secretive(call: TestCall): void {
  call.record('ToolCallRequested', { arguments: { user: 'bob', password: secret }, sensitive: ['/password'] });
  call.record('ApprovalRequested');
  call.record('ApprovalResponded', {
    decision: {
      type: 'edit',
      arguments: { user: 'eve', password: `${secret}!` },
      sensitive: ['/password'],
      salt: '01',
      verdict,
      requirement: null,
      clock: null,
    },
    proposal: 2,
    actionDigest: digestOf('b'),
  });
  call.record('ExecutionClaimed');
  call.record('ExecutionSucceeded', { output: { id: 7, session: { access_token: `${secret}?` } } });
}

describe('a whole view', () => {
  it('shows everything', () => {
    const [row] = rowsOf(secretive);
    const view = row && toToolCallView(row, 'whole');
    expect(toolCallViewSchema.parse(view)).toMatchObject({
      arguments: { password: 'hunter2!' },
      originalArguments: { password: 'hunter2' },
      output: { session: { access_token: 'hunter2?' } },
      approval: { responses: [{ decision: { type: 'edit', arguments: { password: 'hunter2!' } } }] },
    });
  });
});

describe('a masked view', () => {
  it('shows no secret anywhere, and the rest as it is', () => {
    const [row] = rowsOf(secretive);
    const view = row && toToolCallView(row, 'masked');
    expect(JSON.stringify(view)).not.toContain(secret);
    expect(toolCallViewSchema.parse(view)).toMatchObject({
      arguments: { user: 'eve', password: expect.stringMatching(/^\[masked sha256:[0-9a-f]{16}\]$/) as string },
      originalArguments: { user: 'bob' },
      output: { id: 7, session: { access_token: '[masked]' } },
    });
  });

  it('masks the edit of each response as well, also of one that counts no more', () => {
    const [row] = rowsOf((call) => {
      secretive(call);
      call.record('ApprovalResponded', { respondedBy: 'bob', decision: { type: 'deny' }, proposal: 2 });
    });
    const { responses = [] } = (row && toToolCallView(row, 'masked'))?.approval ?? {};
    const [edit] = responses;
    expect(edit?.decision).toEqual({
      type: 'edit',
      arguments: { user: 'eve', password: expect.stringMatching(/^\[masked sha256:[0-9a-f]{16}\]$/) as string },
    });
    expect(JSON.stringify(responses)).not.toContain(secret);
  });

  it('masks an answer and an error by the names in them', () => {
    const rows = rowsOf(
      (call) => {
        call.record('ToolCallRequested');
        call.record('ApprovalRequested');
        call.record('ApprovalResponded', { decision: { type: 'answer', output: { apiKey: secret } }, proposal: 2 });
      },
      (call) => {
        call.record('ToolCallRequested');
        call.record('ToolCallAllowed');
        call.record('ExecutionClaimed');
        call.record('ExecutionFailed', { error: { authorization: secret, status: 401 } });
      },
    );
    const views = rows.map((row) => toToolCallView(row, 'masked'));
    expect(JSON.stringify(views)).not.toContain(secret);
    expect(views[0]?.approval?.responses[0]?.decision).toEqual({ type: 'answer', output: { apiKey: '[masked]' } });
    expect(views[1]?.error).toEqual({ authorization: '[masked]', status: 401 });
  });

  it('of an approval masks as that of its call does', () => {
    const [call] = rowsOf(secretive);
    const approval = call?.approvals[0];
    const view = call && approval && toApprovalView({ call, approval }, 'masked');
    expect(approvalViewSchema.parse(view).arguments).toEqual(call && toToolCallView(call, 'masked').arguments);
    expect(JSON.stringify(view)).not.toContain(secret);
  });
});

describe('the view of a call', () => {
  it.each([
    [true, true],
    [false, undefined],
  ])('says who executes it, with clientExecuted %s', (clientExecuted, shown) => {
    const [row] = rowsOf((call) => call.record('ToolCallRequested', { clientExecuted }));
    const view = row && toolCallViewSchema.parse(toToolCallView(row, 'masked'));
    expect(view?.clientExecuted).toBe(shown);
  });
});

describe('every view', () => {
  it('names every key, with null where there is nothing', () => {
    const rows = rowsOf(
      (call) => {
        call.record('ToolCallRequested', { batchId: null });
        call.record('ToolCallAllowed');
      },
      (call) => {
        call.record('ToolCallRequested');
        call.record('ApprovalRequested', { reason: null, description: null, expiresAt: null });
      },
    );
    const [allowed, pending] = rows.map((row) => toToolCallView(row, 'masked'));
    const keys = Object.keys(toolCallViewSchema.shape).filter(
      (key) =>
        ![
          ...['clientExecuted', 'originalArguments', 'erasedValues', 'missingValues', 'unreadable', 'repeated'],
          ...['schemaNotes', 'waitsForTurn', 'heldBy'],
        ].includes(key),
    );
    expect(Object.keys(allowed ?? {}).sort()).toEqual(keys.sort());
    expect(allowed).toMatchObject({
      batchId: null,
      approval: null,
      output: null,
      error: null,
      instruction: null,
      settledAt: null,
    });
    // The gateway adds what the caller may decide, that too few could, and that it begins later; a list that a card is cut.
    const added = [
      'mayDecide',
      'noApproverLeft',
      'waitsForTurn',
      'isPreview',
      'schemaNotes',
      'argumentsSchema',
      'shownOthersDigest',
    ];
    const approvalKeys = Object.keys(approvalViewSchema.shape).filter((key) => !added.includes(key));
    expect(Object.keys(pending?.approval ?? {}).sort()).toEqual(approvalKeys.sort());
    expect(pending?.approval).toMatchObject({ reason: null, expiresAt: null, resolution: null, resolvedAt: null });
  });
});

describe('the batch of an approval', () => {
  const batchOf = (batch: object) => {
    const [row] = rowsOf((call) => {
      call.record('ToolCallRequested', batch);
      call.record('ApprovalRequested');
    });
    return row === undefined ? undefined : toToolCallView(row, 'masked').approval?.batch;
  };

  it('names the call alone where it is the only one of its batch', () => {
    const batch = batchOf({ batchId: 'step-1', batchMode: 'independent', batchCallIds: [] });
    expect(batch).toEqual({ batchId: 'step-1', mode: 'independent', callIds: [expect.stringMatching(/^tc_/)] });
  });

  it('is null where the call was requested alone, without a batch', () => {
    expect(batchOf({ batchId: null, batchMode: 'independent', batchCallIds: [] })).toBeNull();
  });
});

describe('the view of a run', () => {
  const rows = rowsOf(
    (call) => {
      call.record('ToolCallRequested', { arguments: { token: secret }, sensitive: ['/token'], requestedBy: 'agent-1' });
      call.record('ApprovalRequested');
    },
    (call) => {
      call.record('ToolCallRequested', { arguments: { token: secret }, sensitive: ['/token'], requestedBy: 'agent-2' });
      call.record('ToolCallAllowed');
    },
  );

  it('stops for approval while something is pending', () => {
    const view = runViewSchema.parse(toRunView('run-1', rows, () => 'whole'));
    expect(view).toMatchObject({ runId: 'run-1', stopReason: 'awaiting_approval', hasPendingApprovals: true });
    expect(view.pendingApprovals).toHaveLength(1);
    expect(view.calls.map(({ toolCallId }) => toolCallId)).toEqual(['call_1', 'call_2']);
  });

  it('does not stop when nothing is', () => {
    const view = toRunView('run-1', rows.slice(1), () => 'whole');
    expect(view).toMatchObject({ stopReason: null, hasPendingApprovals: false, pendingApprovals: [] });
  });

  it('shows each call as its reader may see it', () => {
    const view = toRunView('run-1', rows, ({ request }) => (request.requestedBy === 'agent-2' ? 'whole' : 'masked'));
    expect(view.calls.map((call) => call.arguments['token'] === secret)).toEqual([false, true]);
    expect(JSON.stringify(view.pendingApprovals)).not.toContain(secret);
  });
});
