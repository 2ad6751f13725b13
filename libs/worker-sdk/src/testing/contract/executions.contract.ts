import { actionDigest, type ClaimView, type ToolCallView } from '@countersign/contracts';
import { describe, expect, it } from '@jest/globals';
import { anyText, anyTime, callShape, claimShape, json, problem } from './shapes.js';
import { pathOf, type Sender, type WorkerServer } from './worker-server.js';

const by = { resolverId: 'worker' };

export function describeClaims({ resolver, askOne, claim }: Sender, server: () => WorkerServer): void {
  const claimAs = (call: ToolCallView, body: object = by, key?: string) =>
    resolver('POST', pathOf(call, '/claim'), body, key);
  describe('a claim', () => {
    it('gives the arguments, and all that their digest covers', async () => {
      const call = await askOne();
      const answer = await claimAs(call);
      expect(answer).toEqual(json(200, claimShape(call)));
      const { digestInput, arguments: args } = answer.body as ClaimView;
      expect(actionDigest(digestInput, args)).toBe(call.actionDigest);
    });

    it('gives edited arguments with their digest', async () => {
      const call = await askOne({ needsApproval: true });
      await server().respond(call, { decision: { type: 'edit', arguments: { amount: 40 } } });
      const { digestInput, arguments: args, ...claimed } = (await claimAs(call)).body as ClaimView;
      expect(args).toEqual({ amount: 40 });
      expect(actionDigest(digestInput, args)).toBe(claimed.actionDigest);
    });

    it('is returned again for its key until its end, but not with another body', async () => {
      const call = await askOne();
      const key = `key-${call.callId}`;
      const first = await claimAs(call, by, key);
      expect(await claimAs(call, by, key)).toEqual(first);
      expect(await claimAs(call, { resolverId: 'other' }, key)).toEqual(problem(409, 'idempotency-key-reused'));
      await resolver('POST', pathOf(call, '/outcome'), { attempt: 1, status: 'succeeded', output: null });
      expect(await claimAs(call, by, key)).toEqual(problem(409, 'already-settled'));
    });

    it('is refused while another one holds, and after the end', async () => {
      const call = await askOne();
      await claim(call);
      const held = { attempt: 1, resolverId: 'worker', leaseUntil: anyTime };
      expect(await claimAs(call, { resolverId: 'other' })).toEqual(problem(409, 'already-claimed', held));
      await resolver('POST', pathOf(call, '/outcome'), { attempt: 1, status: 'failed', error: 'no money' });
      expect(await claimAs(call)).toEqual(problem(409, 'already-settled', { state: 'failed' }));
    });

    it('is refused without an approval', async () => {
      const ask = (toolCallId: string, more: object = {}) => askOne({ toolCallId, needsApproval: true, ...more });
      const [waiting, denied, expired] = [await ask('w'), await ask('d'), await ask('e', { expiresInMs: 1 })];
      await server().respond(denied, { decision: { type: 'deny' } });
      await server().expire(expired);
      const refused = (state: string) => problem(409, 'not-approved', { state });
      expect(await claimAs(waiting)).toEqual(refused('awaiting_approval'));
      expect(await claimAs(denied)).toEqual(refused('denied'));
      expect(await claimAs(expired)).toEqual(refused('expired'));
    });

    it('is refused for a call that the client executes', async () => {
      expect(await claimAs(await askOne({ clientExecuted: true }))).toEqual(problem(409, 'not-approved'));
    });

    it('needs the role resolver', async () => {
      const call = await askOne();
      server().setMayClaim(false);
      const answers = [await claimAs(call), await resolver('POST', pathOf(call, '/claim/renew'), { attempt: 1 })];
      server().setMayClaim(true);
      expect(answers).toEqual([problem(403, 'forbidden'), problem(403, 'forbidden')]);
    });
  });
}

export function describeLeases({ resolver, askOne, read, claim }: Sender, server: () => WorkerServer): void {
  const send = (call: ToolCallView, action: string, body: object) => resolver('POST', pathOf(call, action), body);
  const succeeded = (attempt: number) => ({ attempt, status: 'succeeded', output: { refunded: 50 } });
  const lapsed = async (more: Parameters<Sender['askOne']>[0] = {}) => {
    const call = await askOne(more);
    await claim(call, 1);
    await server().endLease(call);
    return call;
  };
  describe('a lease', () => {
    it('is extended by the latest attempt alone', async () => {
      const call = await askOne();
      await claim(call);
      const renewed = json(200, { attempt: 1, leaseUntil: anyTime, receipt: anyText });
      expect(await send(call, '/claim/renew', { attempt: 1, leaseMs: 60_000 })).toEqual(renewed);
      expect(await send(call, '/claim/renew', { attempt: 2 })).toEqual(problem(409, 'stale-claim', { attempt: 1 }));
    });

    it('that ends without a report leaves the outcome unknown, until a late report', async () => {
      const call = await lapsed();
      const error = { code: 'unknown', message: anyText };
      expect(await read(call)).toEqual(callShape({ state: 'unknown', settledAt: anyTime, error, revision: 3 }));
      expect(await send(call, '/claim/renew', { attempt: 1 })).toEqual(problem(409, 'stale-claim', { attempt: 1 }));
      expect(await send(call, '/claim', by)).toEqual(problem(409, 'already-settled', { state: 'unknown' }));
      const late = callShape({ state: 'succeeded', settledAt: anyTime, output: { refunded: 50 }, revision: 4 });
      expect(await send(call, '/outcome', succeeded(1))).toEqual(json(200, late));
    });

    it('that ends lets an idempotent tool run again', async () => {
      const call = await askOne({ idempotent: true });
      const first = () => resolver('POST', pathOf(call, '/claim'), { ...by, leaseMs: 1 }, `first-${call.callId}`);
      expect(await first()).toMatchObject({ status: 200, body: { attempt: 1 } });
      await server().endLease(call);
      expect(await read(call)).toEqual(callShape({ revision: 3 }));
      expect(await first()).toEqual(problem(409, 'already-claimed'));
      expect(await send(call, '/claim', by)).toMatchObject({ status: 200, body: { attempt: 2 } });
      expect(await send(call, '/outcome', succeeded(1))).toEqual(problem(409, 'stale-claim', { attempt: 2 }));
    });

    it('that ended after an approval needs no other approval', async () => {
      const call = await askOne({ needsApproval: true, idempotent: true });
      await server().respond(call, { decision: { type: 'approve' } });
      await claim(call, 1);
      await server().endLease(call);
      expect(await read(call)).toMatchObject({ state: 'approved', approval: { callState: 'approved' } });
    });

    it('is given once more after a person reconciled with a retry', async () => {
      const call = await lapsed();
      await server().retry(call);
      expect(await read(call)).toEqual(callShape({ revision: 4 }));
      expect(await send(call, '/claim', by)).toMatchObject({ status: 200, body: { attempt: 2 } });
    });
  });
}

export function describeOutcomes({ agent, resolver, askOne, claim }: Sender): void {
  describe('an outcome', () => {
    it.each([
      [
        { status: 'succeeded', output: { refunded: 50 } },
        { state: 'succeeded', output: { refunded: 50 } },
      ],
      [
        { status: 'failed', error: { message: 'no money' } },
        { state: 'failed', error: { message: 'no money' } },
      ],
    ])('is recorded once: %j', async (report, end) => {
      const call = await askOne();
      await claim(call);
      const send = (more: object) => resolver('POST', pathOf(call, '/outcome'), { attempt: 1, ...report, ...more });
      const recorded = json(200, callShape({ ...end, settledAt: anyTime, revision: 3 }));
      expect(await send({})).toEqual(recorded);
      expect(await send({})).toEqual(recorded);
      const other = { attempt: 1, status: 'succeeded', output: 'other' };
      const stale = problem(409, 'stale-claim', { attempt: 1 });
      expect(await resolver('POST', pathOf(call, '/outcome'), other)).toEqual(stale);
    });

    it('is refused without a claim', async () => {
      const call = await askOne();
      const answer = await resolver('POST', pathOf(call, '/outcome'), {
        attempt: 1,
        status: 'succeeded',
        output: null,
      });
      expect(answer).toEqual(problem(409, 'stale-claim', { attempt: 0 }));
    });
  });

  describe('the output of a client', () => {
    const output = { status: 'succeeded', output: { shown: true } };
    const submit = (call: ToolCallView, body: object = output) => agent('POST', pathOf(call, '/output'), body);
    it.each([
      [output, { state: 'succeeded', output: { shown: true } }],
      [
        { status: 'failed', error: 'closed' },
        { state: 'failed', error: 'closed' },
      ],
    ])('is recorded once: %j', async (body, end) => {
      const call = await askOne({ clientExecuted: true });
      const shape = callShape({ clientExecuted: true, ...end, settledAt: anyTime, revision: 2 });
      expect(await submit(call, body)).toEqual(json(200, shape));
      expect(await submit(call, body)).toEqual(problem(409, 'already-settled', { state: end.state }));
    });

    it('is refused before the approval, and for a call of a worker', async () => {
      const waiting = await askOne({ clientExecuted: true, needsApproval: true });
      expect(await submit(waiting)).toEqual(problem(409, 'not-approved', { state: 'awaiting_approval' }));
      expect(await submit(await askOne())).toEqual(problem(409, 'not-client-executed'));
    });
  });
}
