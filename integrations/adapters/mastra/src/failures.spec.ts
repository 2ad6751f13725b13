// Against a real Countersign: the program hears that Countersign refuses or does not answer.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient, CountersignError, type WorkerLog } from '@countersign/worker-sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { LibSQLStore } from '@mastra/libsql';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const cli = join(import.meta.dirname, '..', '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');
const ran: number[] = [];
const closers: (() => Promise<void>)[] = [];
const refund = gatedTool({
  id: 'refund',
  description: 'Refunds an amount',
  inputSchema: z.strictObject({ amount: z.int() }),
  execute: ({ amount }) => {
    ran.push(amount);
    return { refunded: amount };
  },
});

let server: KitServer;
let run = { runId: '' };

beforeAll(async () => {
  server = await startKitServer(cli);
});
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
  await server.stop();
});
beforeEach(() => {
  ran.length = 0;
  run = { runId: randomUUID() };
});

interface Settings {
  readonly url?: string;
  readonly token?: string;
  readonly resolverToken?: string;
  readonly agentId?: string;
  readonly log?: WorkerLog;
}

/** A process that has these settings. All processes have one storage. */
function processWith(settings: Settings = {}) {
  const { url, agentToken: token, workerToken: resolverToken } = server;
  const log = { warn: jest.fn<WorkerLog['warn']>(), error: jest.fn<WorkerLog['error']>() };
  const options = { url, token, resolverToken, agentId: 'agent', attempts: 1, log, ...settings };
  const gate = gateTools(options, [refund]);
  closers.push(gate.close);
  const { tools } = gate.run(run.runId);
  const script = scriptedModel([[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]]);
  const instructions = 'You refund.';
  const inner = new Agent({ id: 'i', name: 'i', description: 'Refunds', instructions, model: script.model, tools });
  const outerScript = scriptedModel([
    [{ toolCallId: 'outer', toolName: 'agent-delegate', arguments: { prompt: 'go' } }],
  ]);
  const outer = new Agent({ id: 'o', name: 'o', instructions, model: outerScript.model, agents: { delegate: inner } });
  const storage = new LibSQLStore({ id: 'shared', url: 'file::memory:?cache=shared' });
  const mastra = new Mastra({ agents: { inner, outer }, storage, logger: false });
  return { agent: mastra.getAgent('inner'), outer: mastra.getAgent('outer'), script, outerScript, log };
}

async function approve(): Promise<void> {
  const approver = createClient({ url: server.url, token: server.approverToken });
  const [approval] = (await approver.getRun(run.runId)).pendingApprovals;
  await approver.respond(approval!.approvalId, { decision: { type: 'approve' } });
}

describe('a run whose gate has wrong settings', () => {
  it.each<[string, Settings, RegExp]>([
    ['token', { token: 'wrong' }, /unauthenticated/],
    ['resolverToken', { resolverToken: 'wrong' }, /unauthenticated/],
    ['url', { url: 'http://127.0.0.1:9' }, /no response from/],
  ])('throws: %s', async (_, settings, message) => {
    const { agent, script, log } = processWith(settings);
    const error: unknown = await agent.generate('go', run).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CountersignError);
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    expect(log.error.mock.calls).toEqual([
      [{ ...run, toolCallId: 'c1', error: expect.stringMatching(message) }, 'the call has no result'],
    ]);
    expect(script.told()).toEqual({});
    expect(ran).toEqual([]);
  });

  it('is refused at once when it names no agent', () => {
    expect(() => processWith({ agentId: '' })).toThrow(/agentId is empty/);
  });

  it('has the error in its stream', async () => {
    const { agent, script } = processWith({ token: 'wrong' });
    const errors: unknown[] = [];
    for await (const chunk of (await agent.stream('go', run)).fullStream) {
      if (chunk.type === 'error') errors.push(chunk.payload.error);
    }
    expect(errors).toEqual([expect.any(CountersignError)]);
    expect(script.told()).toEqual({});
  });

  it('stays suspended, and a process with right settings resumes it', async () => {
    const wrong = processWith({ token: 'wrong' });
    await expect(wrong.agent.generate('go', run)).rejects.toThrow(CountersignError);
    const { runs } = await wrong.agent.listSuspendedRuns();
    expect(runs.find(({ runId }) => runId === run.runId)?.toolCalls).toMatchObject([
      { suspendPayload: { toolCallId: 'c1', error: expect.stringMatching(/unauthenticated/) } },
    ]);
    await expect(processWith({ token: 'wrong' }).agent.resumeGenerate({}, run)).rejects.toThrow(CountersignError);
    expect((await processWith().agent.resumeGenerate({}, run)).finishReason).toBe('suspended');
    await approve();
    const { agent, script } = processWith();
    await agent.resumeGenerate({}, run);
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(ran).toEqual([50]);
  });

  it('is logged to the console by default: the framework hides an error inside a nested agent from the program', async () => {
    const logged = jest.spyOn(console, 'error').mockReturnValue();
    const { outer, outerScript } = processWith({ token: 'wrong', log: undefined as never });
    expect((await outer.generate('go', run)).text).toBe('done');
    expect(outerScript.told()['outer']).toMatch(/Failed agent tool execution/);
    expect(logged.mock.calls).toMatchObject([[{ toolCallId: 'c1' }, 'the call has no result']]);
    logged.mockRestore();
    expect(ran).toEqual([]);
  });
});

describe('a resumed run', () => {
  it('throws when Countersign is away, and runs once after it is back', async () => {
    expect((await processWith().agent.generate('go', run)).finishReason).toBe('suspended');
    await approve();
    const away = processWith({ url: 'http://127.0.0.1:9' });
    await expect(away.agent.resumeGenerate({}, run)).rejects.toThrow(/no response from/);
    expect(ran).toEqual([]);
    await processWith().agent.resumeGenerate({}, run);
    expect(ran).toEqual([50]);
  });
});
