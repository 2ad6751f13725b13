import { otherSchema, type ToolCallView } from '@countersign/contracts';
import { describe, expect, it } from '@jest/globals';
import {
  anyText,
  anyTime,
  approvalShape,
  callShape,
  deniedBy,
  json,
  problem,
  required,
  waitingShape,
} from './shapes.js';
import { nextRun, sampleCall, type Sender, type WorkerServer } from './worker-server.js';

const step = (calls: readonly object[], more: object = {}) => ({ runId: nextRun(), agentId: 'biller', ...more, calls });

export function describeRequests(sender: Sender, server: () => WorkerServer): void {
  const { agent, ask, askOne } = sender;
  describe('a request', () => {
    it('allows a call that needs no approval', async () => {
      const answer = await agent('POST', '/v1/tool-calls', step([sampleCall]));
      expect(answer).toEqual(json(201, { calls: [callShape({ revision: 1 })] }));
    });

    it('asks people about a call that the worker flags', async () => {
      const question = { reason: 'large', description: 'Refund 50', labels: { team: 'ops' } };
      const answer = await agent('POST', '/v1/tool-calls', step([{ ...sampleCall, ...question, needsApproval: true }]));
      expect(answer).toEqual(json(201, { calls: [waitingShape({ revision: 1 }, question)] }));
    });

    it('blocks a call that the code of the agent denies, with its reason, and asks no person', async () => {
      const denied = { ...sampleCall, needsApproval: true, deny: 'too much' };
      const answer = await agent('POST', '/v1/tool-calls', step([denied]));
      const error = { code: 'blocked', message: 'too much' };
      const shape = callShape({
        state: 'blocked',
        verdict: deniedBy('too much'),
        error,
        settledAt: anyTime,
        revision: 1,
      });
      expect(answer).toEqual(json(201, { calls: [shape] }));
      expect(await agent('POST', '/v1/tool-calls', step([{ ...sampleCall, deny: '' }]))).toMatchObject({ status: 400 });
    });

    it('narrows the decisions of people, who may always deny, and asks without a time limit', async () => {
      const limits = { allowedDecisions: ['answer'] as const, expiresInMs: 'never' as const };
      const call = await askOne({ needsApproval: true, ...limits, allowedDecisions: [...limits.allowedDecisions] });
      const allowedDecisions: ('deny' | 'answer')[] = ['deny', 'answer'];
      const shape = approvalShape(
        { allowedDecisions, expiresAt: null, upcoming: [] },
        { allowedDecisions, expiresInMs: 'never' },
      );
      expect(call.approval).toEqual(shape);
    });

    it('says that the client executes a call, and who requests it by default', async () => {
      const { agentId: _, ...unnamed } = step([{ ...sampleCall, clientExecuted: true }]);
      const answer = await agent('POST', '/v1/tool-calls', unnamed);
      expect(answer).toEqual(json(201, { calls: [callShape({ agentId: 'agent', clientExecuted: true })] }));
    });

    it('names the calls that were requested together', async () => {
      const calls = await ask([{}, { toolCallId: 'call-2', needsApproval: true }], { batchId: 'step-1' });
      const batch = { batchId: 'step-1', mode: 'independent', callIds: calls.map(({ callId }) => callId) };
      expect(calls).toEqual([
        callShape({ batchId: 'step-1' }),
        waitingShape({ batchId: 'step-1', toolCallId: 'call-2' }, { batch, toolCallId: 'call-2' }),
      ]);
    });
  });
  describeRepeats(sender, server);
  describeDenials(sender);
  describeInvalid(agent);
}

function describeRepeats(sender: Sender, server: () => WorkerServer): void {
  const { agent, ask, askOne, read, claim } = sender;
  describe('a repeated request', () => {
    it('adds nothing', async () => {
      const call = await askOne({ needsApproval: true });
      const again = step([{ ...sampleCall, needsApproval: true, description: 'other words' }], { runId: call.runId });
      expect(await agent('POST', '/v1/tool-calls', again)).toEqual(json(200, { calls: [call] }));
    });

    it('is new when it has one new call', async () => {
      const call = await askOne();
      const again = step([sampleCall, { ...sampleCall, toolCallId: 'call-2' }], { runId: call.runId });
      const calls = [call, callShape({ toolCallId: 'call-2' })];
      expect(await agent('POST', '/v1/tool-calls', again)).toEqual(json(201, { calls }));
    });

    it('finds an edited call by the arguments that were requested, not by the edited ones', async () => {
      const call = await askOne({ needsApproval: true });
      await server().respond(call, { decision: { type: 'edit', arguments: { amount: 40 } } });
      const again = (amount: number) =>
        agent(
          'POST',
          '/v1/tool-calls',
          step([{ ...sampleCall, arguments: { amount }, needsApproval: true }], { runId: call.runId }),
        );
      expect(await again(50)).toEqual(json(200, { calls: [await read(call)] }));
      expect(await again(40)).toEqual(problem(409, 'tool-call-mismatch'));
    });

    it.each([
      ['arguments', { arguments: { amount: 51 } }, {}],
      ['toolName', { toolName: 'pay' }, {}],
      ['toolSchema', { toolSchema: { type: 'object' } }, {}],
      ['idempotent', { idempotent: true }, {}],
      ['clientExecuted', { clientExecuted: true }, {}],
      ['agentId', {}, { agentId: 'other' }],
      ['folder', { labels: { cwd: '/elsewhere' } }, {}],
      ['batchId', {}, { batchId: 'other' }],
    ])('is refused with another %s, and only another schema is called one', async (name, member, more) => {
      const { runId } = await askOne();
      const answer = await agent('POST', '/v1/tool-calls', step([{ ...sampleCall, ...member }], { runId, ...more }));
      expect(answer).toEqual(problem(409, 'tool-call-mismatch'));
      expect((answer.body as { detail: string }).detail.includes(otherSchema)).toBe(name === 'toolSchema');
    });

    it('that is refused records none of its calls', async () => {
      const call = await askOne();
      const calls = [
        { ...sampleCall, toolCallId: 'new' },
        { ...sampleCall, arguments: {} },
      ];
      const answer = await agent('POST', '/v1/tool-calls', step(calls, { runId: call.runId }));
      expect(answer).toEqual(problem(409, 'tool-call-mismatch'));
      expect(await agent('GET', `/v1/runs/${call.runId}`)).toMatchObject({ body: { calls: [call] } });
    });

    it('that flags an allowed call opens its approval, and comes too late after the claim', async () => {
      const [open, claimed] = await ask([{}, { toolCallId: 'call-2' }]);
      if (open === undefined || claimed === undefined) throw new Error('two calls were requested');
      await claim(claimed);
      const flag = (call: ToolCallView) => {
        const flagged = { ...sampleCall, toolCallId: call.toolCallId, needsApproval: true };
        return agent('POST', '/v1/tool-calls', step([flagged], { runId: call.runId }));
      };
      const shape = { callId: open.callId, state: 'awaiting_approval', verdict: required, revision: 2 };
      expect(await flag(open)).toMatchObject({ status: 200, body: { calls: [shape] } });
      expect(await flag(claimed)).toEqual(problem(409, 'tool-call-mismatch'));
    });
  });
}

function describeDenials({ agent, ask, claim }: Sender): void {
  const deny = (call: ToolCallView) => {
    const denied = { ...sampleCall, toolCallId: call.toolCallId, deny: 'too much' };
    return agent('POST', '/v1/tool-calls', step([denied], { runId: call.runId }));
  };
  describe('a repeated request that the code of the agent denies', () => {
    it('cancels an open call, and comes too late after the claim', async () => {
      const [open, waiting, claimed] = await ask([
        {},
        { toolCallId: 'call-2', needsApproval: true },
        { toolCallId: 'call-3' },
      ]);
      if (open === undefined || waiting === undefined || claimed === undefined) throw new Error('three were requested');
      await claim(claimed);
      for (const call of [open, waiting]) {
        const error = { code: 'cancelled', message: 'too much' };
        expect(await deny(call)).toMatchObject({ status: 200, body: { calls: [{ state: 'cancelled', error }] } });
      }
      expect(await deny(claimed)).toEqual(problem(409, 'tool-call-mismatch'));
    });
  });
}

function describeInvalid(agent: Sender['agent']): void {
  describe('an invalid request', () => {
    it('names the arguments that do not match the schema of the tool, and records nothing', async () => {
      const toolSchema = { type: 'object', properties: { amount: { type: 'string' } } };
      const body = step([
        { ...sampleCall, toolCallId: 'call-2' },
        { ...sampleCall, toolSchema },
      ]);
      const errors = [{ path: 'calls.1.arguments.amount', message: anyText }];
      expect(await agent('POST', '/v1/tool-calls', body)).toEqual(problem(422, 'invalid-arguments', { errors }));
      expect(await agent('GET', `/v1/runs/${body.runId}`)).toEqual(problem(404, 'not-found'));
    });

    it.each([
      ['no call', step([]), ['calls']],
      ['an unknown member', step([{ ...sampleCall, color: 'red' }]), ['calls.0.color']],
      ['an id twice', step([sampleCall, sampleCall]), ['calls.1.toolCallId']],
      ['missing members', step([{ toolCallId: 'call-1' }]), ['calls.0.toolName', 'calls.0.arguments']],
      ['no run', { calls: [sampleCall] }, ['runId']],
    ])('names the place of %s', async (_, body, paths) => {
      const errors = paths.map((path) => ({ path, message: anyText }));
      expect(await agent('POST', '/v1/tool-calls', body)).toEqual(problem(400, 'invalid-request', { errors }));
    });
  });
}
