import { describe, expect, it } from '@jest/globals';
import {
  anyTime,
  approvalShape,
  callShape,
  decidedApproval,
  endedApproval,
  json,
  problem,
  required,
  waitingShape,
  type Members,
} from './shapes.js';
import { pathOf, type Sender, type WorkerServer } from './worker-server.js';

/** A call that people were asked about, after the end of the approval. */
function endedShape(state: string, approval: Members, more: Members = {}): Members {
  return callShape({ state, verdict: required, approval: approvalShape(approval), revision: 2, ...more });
}

export function describeDecisions({ askOne, read }: Sender, server: () => WorkerServer): void {
  describe('a decision', () => {
    it('that approves a call has its reason and its instruction', async () => {
      const call = await askOne({ needsApproval: true });
      await server().respond(call, { decision: { type: 'approve' }, reason: 'seen', instruction: 'then check' });
      const approval = decidedApproval({ type: 'approve' }, 'approved', 'seen');
      const instructions = [{ respondedBy: 'me', instruction: 'then check' }];
      expect(await read(call)).toEqual(
        endedShape('approved', { ...approval, instructions, shownRevision: 2 }, { instruction: 'then check' }),
      );
    });

    it('that edits a call changes its arguments and its digest', async () => {
      const call = await askOne({ needsApproval: true });
      const edited = { arguments: { amount: 40 } };
      await server().respond(call, { decision: { type: 'edit', ...edited } });
      const approval = { ...decidedApproval({ type: 'edit', ...edited }, 'approved'), ...edited, shownRevision: 2 };
      const view = await read(call);
      expect(view).toEqual(endedShape('approved', approval, { ...edited, originalArguments: call.arguments }));
      expect(view.actionDigest).not.toBe(call.actionDigest);
      expect(view.approval?.actionDigest).toBe(view.actionDigest);
    });

    it('that denies a call ends it with the reason as its error', async () => {
      const reasoned = await askOne({ needsApproval: true });
      const silent = await askOne({ toolCallId: 'silent', needsApproval: true });
      const decision = { type: 'deny' } as const;
      await server().respond(reasoned, { decision, reason: 'too much', instruction: 'ask ops' });
      await server().respond(silent, { decision });
      const ended = { settledAt: anyTime, error: { code: 'denied', message: 'too much' }, instruction: 'ask ops' };
      const instructions = [{ respondedBy: 'me', instruction: 'ask ops', ifDenied: true }];
      const approval = { ...decidedApproval(decision, 'denied', 'too much'), instructions, shownRevision: 2 };
      expect(await read(reasoned)).toEqual(endedShape('denied', approval, ended));
      expect(await read(silent)).toMatchObject({ error: { code: 'denied', message: 'User denied' } });
    });

    it('that answers a call gives it an output, without a run', async () => {
      const call = await askOne({ needsApproval: true });
      const decision = { type: 'answer', output: { by: 'hand' } } as const;
      await server().respond(call, { decision, instruction: 'done' });
      const ended = { settledAt: anyTime, output: { by: 'hand' }, instruction: 'done' };
      const approval = {
        ...decidedApproval(decision, 'succeeded'),
        instructions: [{ respondedBy: 'me', instruction: 'done' }],
        shownRevision: 3,
      };
      expect(await read(call)).toEqual(endedShape('succeeded', approval, ended));
    });

    it('that does not come in time ends the call', async () => {
      const call = await askOne({ needsApproval: true, expiresInMs: 1 });
      await server().expire(call);
      const view = await read(call);
      const error = { code: 'expired', message: 'No person answered in time' };
      expect({ ...view, approval: null }).toEqual({
        ...endedShape('expired', {}, { settledAt: anyTime, error }),
        approval: null,
      });
      expect(view.approval).toEqual(approvalShape(endedApproval('expired', 'expired'), { expiresInMs: 1 }));
    });
  });
}

export function describeQuestions({ agent, askOne, read, claim }: Sender, server: () => WorkerServer): void {
  const question = (call: Parameters<typeof pathOf>[0], body: unknown = {}) =>
    agent('POST', pathOf(call, '/approvals'), body);
  describe('a question about a recorded call', () => {
    it('opens the approval of an allowed call', async () => {
      const call = await askOne();
      const words = { reason: 'odd', description: 'Refund?' };
      expect(await question(call, words)).toEqual(json(201, approvalShape(words)));
      expect(await read(call)).toEqual(waitingShape({ revision: 2 }, words));
    });

    it('is the next round after the approval expired', async () => {
      const call = await askOne({ needsApproval: true, expiresInMs: 1, reason: 'odd' });
      await server().expire(call);
      expect(await question(call)).toMatchObject({ status: 201, body: { round: 2, state: 'pending' } });
      expect(await read(call)).toMatchObject({ state: 'awaiting_approval', error: null, settledAt: null, revision: 3 });
    });

    it('is refused while an approval is pending', async () => {
      const call = await askOne({ needsApproval: true });
      const { approvalId } = call.approval ?? {};
      expect(await question(call)).toEqual(problem(409, 'already-pending', { approvalId }));
    });

    it('is refused when nothing is left to approve', async () => {
      const approved = await askOne({ needsApproval: true });
      const denied = await askOne({ toolCallId: 'denied', needsApproval: true });
      await server().respond(approved, { decision: { type: 'approve' } });
      await server().respond(denied, { decision: { type: 'deny' } });
      expect(await question(approved)).toEqual(problem(409, 'already-resolved', { state: 'approved' }));
      expect(await question(denied)).toEqual(problem(409, 'already-resolved', { state: 'denied' }));
      await claim(approved);
      expect(await question(approved)).toEqual(problem(409, 'already-resolved', { state: 'executing' }));
    });
  });
}

export function describeCancellations({ agent, ask, askOne, claim }: Sender): void {
  const reason = { reason: 'not needed' };
  const ended = {
    state: 'cancelled',
    settledAt: anyTime,
    error: { code: 'cancelled', message: 'not needed' },
    revision: 2,
  };
  describe('a cancellation', () => {
    it('ends a call and its pending approval, once', async () => {
      const call = await askOne({ needsApproval: true });
      const shape = waitingShape(ended, endedApproval('cancelled', 'cancelled'));
      expect(await agent('POST', pathOf(call, '/cancel'), reason)).toEqual(json(200, shape));
      const settled = problem(409, 'already-settled', { state: 'cancelled' });
      expect(await agent('POST', pathOf(call, '/cancel'), reason)).toEqual(settled);
    });

    it('needs a reason', async () => {
      const errors = [{ path: 'reason', message: expect.any(String) }];
      const call = await askOne();
      expect(await agent('POST', pathOf(call, '/cancel'), {})).toEqual(problem(400, 'invalid-request', { errors }));
    });

    it('comes too late after the claim', async () => {
      const call = await askOne();
      await claim(call);
      expect(await agent('POST', pathOf(call, '/cancel'), reason)).toEqual(problem(409, 'already-claimed'));
    });

    it('of a run ends its open calls, and names those that it did not end', async () => {
      const [open, claimed] = await ask([{}, { toolCallId: 'call-2' }]);
      if (open === undefined || claimed === undefined) throw new Error('two calls were requested');
      await claim(claimed);
      const { runId } = open;
      const notCancelled = [{ callId: claimed.callId, code: 'already-claimed', detail: expect.any(String) }];
      const answer = await agent('POST', `/v1/runs/${runId}/cancel`, reason);
      expect(answer).toEqual(json(200, { runId, cancelled: [open.callId], notCancelled }));
      expect(await agent('GET', pathOf(open))).toEqual(json(200, callShape(ended)));
      expect(await agent('POST', '/v1/runs/none/cancel', reason)).toEqual(problem(404, 'not-found'));
    });
  });
}

export function describeBatches({ agent, resolver, ask, read, claim }: Sender, server: () => WorkerServer): void {
  const askBoth = async () => {
    const calls = await ask([{}, { toolCallId: 'call-2', needsApproval: true }], { batchMode: 'all-or-nothing' });
    const [first, second] = calls;
    if (first === undefined || second === undefined) throw new Error('two calls were requested');
    return { first, second };
  };
  const because = (callId: string, end: string) => ({
    code: 'cancelled',
    message: `the call ${callId} of the same all-or-nothing batch was ${end}`,
  });
  describe('an all-or-nothing batch', () => {
    it('runs no call before all are approved', async () => {
      const { first, second } = await askBoth();
      const incomplete = problem(409, 'batch-incomplete', { callIds: [second.callId] });
      expect(await resolver('POST', pathOf(first, '/claim'), { resolverId: 'worker' })).toEqual(incomplete);
      await server().respond(second, { decision: { type: 'approve' } });
      await claim(first);
    });

    it('ends with the denial of one call', async () => {
      const { first, second } = await askBoth();
      await server().respond(second, { decision: { type: 'deny' } });
      // The server ends the others after it recorded the denial.
      expect(await agent('GET', pathOf(first, '?waitMs=5000&until=settled'))).toMatchObject({
        body: { state: 'cancelled', error: because(second.callId, 'denied') },
      });
    });

    it('ends with the cancellation of one call', async () => {
      const { first, second } = await askBoth();
      await agent('POST', pathOf(first, '/cancel'), { reason: 'not needed' });
      expect(await agent('GET', pathOf(second, '?waitMs=5000&until=settled'))).toMatchObject({
        body: { state: 'cancelled', error: because(first.callId, 'cancelled'), approval: { state: 'cancelled' } },
      });
    });

    it('that has begun cannot be cancelled', async () => {
      const { first, second } = await askBoth();
      await server().respond(second, { decision: { type: 'approve' } });
      await claim(first);
      const answer = await agent('POST', pathOf(second, '/cancel'), { reason: 'not needed' });
      expect(answer).toEqual(problem(409, 'batch-begun'));
      expect(await read(second)).toMatchObject({ state: 'approved' });
    });
  });
}
