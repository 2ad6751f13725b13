import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpAgent } from '@ag-ui/client';
import {
  contentToText,
  EventType,
  type AGUIEvent,
  type Interrupt,
  type ResumeEntry,
  type RunAgentInput,
} from '@ag-ui/core';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { withApprovals } from './with-approvals.js';

const ran: number[] = [];
const closers: (() => Promise<void>)[] = [];

const refund = gateTool({
  name: 'refund',
  inputSchema: z.strictObject({ amount: z.int() }),
  needsApproval: true,
  approvalPrompt: ({ amount }) => `Refund ${String(amount)}?`,
  execute: ({ amount }) => {
    ran.push(amount);
    return { refunded: amount };
  },
});

interface Process {
  /** The run of the ledger for a request of this user. Default: the thread. */
  readonly runOf?: (user: string, threadId: string) => string;
  /** The interrupts of the agent itself. */
  readonly asks?: readonly Interrupt[];
  /** Default: c1 and c2. */
  readonly toolCallIds?: readonly string[];
  /** Called when the agent has asked, before its run ends. */
  readonly onAsked?: () => void;
}

/** A process of the agent: each of its runs makes the calls again, and says what they returned. */
async function processOn(
  { fetch }: FakeCountersign,
  { runOf, asks = [], toolCallIds = ['c1', 'c2'], onAsked = () => undefined }: Process = {},
): Promise<string> {
  const worker = createWorker({
    url: 'http://fake.test',
    token: 't',
    agentId: 'a',
    tools: [refund],
    fetch,
    attempts: 1,
  });
  async function* agent({ threadId, runId }: RunAgentInput, run: string): AsyncGenerator<AGUIEvent> {
    yield { type: EventType.RUN_STARTED, threadId, runId };
    for (const toolCallId of toolCallIds) {
      const call = { runId: run, toolCallId, toolName: 'refund', arguments: { amount: 50 } };
      const { result } = await worker.call(call);
      const messageId = `${runId}-${toolCallId}`;
      if (result !== null)
        yield { type: EventType.TOOL_CALL_RESULT, messageId, toolCallId, content: modelText(result) };
    }
    onAsked();
    const outcome = asks.length === 0 ? undefined : { type: 'interrupt' as const, interrupts: [...asks] };
    yield { type: EventType.RUN_FINISHED, threadId, runId, ...(outcome === undefined ? {} : { outcome }) };
  }
  const server = createServer((request, response) => {
    void (async () => {
      const input = (await new Response(ReadableStream.from(request)).json()) as RunAgentInput;
      response.setHeader('content-type', 'text/event-stream');
      const run = runOf?.(request.headers.authorization ?? '', input.threadId);
      const options = { worker, inboxUrl: 'https://inbox.test/', run };
      try {
        for await (const event of withApprovals(options, input, () => agent(input, run ?? input.threadId)))
          response.write(`data: ${JSON.stringify(event)}\n\n`);
      } catch (error) {
        response.write(`data: ${JSON.stringify({ type: EventType.RUN_ERROR, message: String(error) })}\n\n`);
      }
      response.end();
    })();
  });
  closers.push(worker.close, () => closed(server));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Runs the real client, and returns what the run ended with. */
async function runOn(client: HttpAgent, resume?: readonly ResumeEntry[]) {
  const told: Record<string, string> = {};
  const errors: string[] = [];
  await client.runAgent(resume === undefined ? {} : { resume: [...resume] }, {
    onToolCallResultEvent: ({ event }) => void (told[event.toolCallId] = contentToText(event.content)),
    onRunErrorEvent: ({ event }) => void errors.push(event.message),
  });
  return { told, errors, interrupts: client.pendingInterrupts };
}

const clientOf = (url: string, from?: HttpAgent): HttpAgent => {
  const client = new HttpAgent({
    url,
    threadId: 'thread',
    ...(from === undefined ? {} : { initialMessages: from.messages }),
  });
  client.pendingInterrupts = [...(from?.pendingInterrupts ?? [])];
  return client;
};

const answers = (interrupts: readonly Interrupt[], status: ResumeEntry['status'] = 'resolved', payload?: unknown) =>
  interrupts.map(({ id }) => ({ interruptId: id, status, ...(payload === undefined ? {} : { payload }) }));

async function interrupted() {
  const countersign = createFakeCountersign();
  const client = clientOf(await processOn(countersign));
  const { interrupts } = await runOn(client);
  expect(interrupts).toHaveLength(2);
  return { countersign, client, interrupts };
}

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('an AG-UI run with a call that waits for people', () => {
  it('ends with an interrupt for each pending approval, which says where people decide', async () => {
    const { countersign, interrupts } = await interrupted();
    const { approval } = countersign.callOf('c1');
    const approvalId = approval?.approvalId ?? '';
    expect(interrupts[0]).toMatchObject({
      id: approvalId,
      reason: 'tool_call',
      message: 'Run `refund` with `{"amount":50}`?  \nThe agent says: `"Refund 50?"`',
      toolCallId: 'c1',
      metadata: {
        countersign: {
          approvalId,
          proposalDigest: approval?.proposal.digest,
          shownDigest: approval?.shownDigest,
          proposal: { number: 1, kind: 'run' },
          instructions: [],
          address: `https://inbox.test/approvals/${approvalId}`,
        },
      },
    });
    expect(ran).toEqual([]);
  });

  it('shows the edit of one of two people with the digests of that edit', async () => {
    const { countersign, client, interrupts } = await interrupted();
    countersign.proposeEdit('c1', { amount: 50000, token: 'secret' });
    const { approval } = countersign.callOf('c1');
    const [edited] = (await runOn(client, answers(interrupts))).interrupts;
    expect(edited).toMatchObject({
      message:
        'Run `refund` with `{"amount":50000,"token":"[masked]"}`?  \nEdited: `me` changed the arguments.  \nThe agent says: `"Refund 50?"`',
      metadata: {
        countersign: {
          ...{ proposalDigest: approval?.proposal.digest, shownDigest: approval?.shownDigest, labels: {} },
          ...{ toolName: 'refund', arguments: { amount: 50000, token: '[masked]' }, hiddenCount: 1 },
        },
      },
    });
    expect(interrupts[0]?.metadata?.['countersign']).toMatchObject({ arguments: { amount: 50 }, hiddenCount: 0 });
  });

  it('ends with all interrupts of a long run, and a user who leaves all of them cancels all calls', async () => {
    const toolCallIds = Array.from({ length: 101 }, (_, index) => `c${String(index)}`);
    const countersign = createFakeCountersign();
    const client = clientOf(await processOn(countersign, { toolCallIds }));
    const { interrupts } = await runOn(client);
    expect(interrupts.map(({ toolCallId }) => toolCallId)).toEqual(toolCallIds);
    const after = await runOn(client, answers(interrupts, 'cancelled'));
    expect(after.interrupts).toEqual([]);
    expect(toolCallIds.map((id) => countersign.callOf(id).state)).toEqual(toolCallIds.map(() => 'cancelled'));
  });

  it('goes on in another process after the decisions', async () => {
    const { countersign, client, interrupts } = await interrupted();
    countersign.approve('c1');
    countersign.deny('c2', { reason: 'too much' });
    const { told, interrupts: after } = await runOn(
      clientOf(await processOn(countersign), client),
      answers(interrupts),
    );
    expect(told).toEqual({ c1: '{"refunded":50}', c2: expect.stringContaining('too much') });
    expect(after).toEqual([]);
    expect(ran).toEqual([50]);
  });

  it('is interrupted again by what is still pending', async () => {
    const { countersign, client, interrupts } = await interrupted();
    countersign.approve('c1');
    const half = await runOn(client, answers(interrupts));
    expect(half.told).toEqual({ c1: '{"refunded":50}' });
    expect(half.interrupts).toMatchObject([{ toolCallId: 'c2' }]);
    countersign.approve('c2');
    expect((await runOn(client, answers(half.interrupts))).interrupts).toEqual([]);
    expect(ran).toEqual([50, 50]);
  });
});

describe('a call that people approve while the agent still runs', () => {
  it('is not lost: the run ends with an interrupt, and the next run makes the call', async () => {
    const countersign = createFakeCountersign();
    const isOpen = (id: string): boolean => countersign.callOf(id).state === 'awaiting_approval';
    const onAsked = (): void => {
      for (const id of ['c1', 'c2'].filter(isOpen)) countersign.approve(id);
    };
    const client = clientOf(await processOn(countersign, { onAsked }));
    const { interrupts } = await runOn(client);
    expect(interrupts).toMatchObject([{ toolCallId: 'c1' }, { toolCallId: 'c2' }]);
    const { told, interrupts: after } = await runOn(client, answers(interrupts));
    expect(told).toEqual({ c1: '{"refunded":50}', c2: '{"refunded":50}' });
    expect(after).toEqual([]);
    expect(ran).toEqual([50, 50]);
  });
});

describe('an answer of the client', () => {
  it.each([{ approved: true }, { decision: 'approve' }, 'yes'])('is no decision: %j', async (payload) => {
    const { countersign, client, interrupts } = await interrupted();
    const { told, interrupts: after } = await runOn(client, answers(interrupts, 'resolved', payload));
    expect(told).toEqual({});
    expect(after).toEqual(interrupts);
    expect(ran).toEqual([]);
    expect(countersign.callOf('c1').state).toBe('awaiting_approval');
  });

  it('cancels the call when the user leaves the question, and no other call', async () => {
    const { countersign, client, interrupts } = await interrupted();
    const [first, second] = interrupts;
    const resume = [...answers([first as Interrupt], 'cancelled'), ...answers([second as Interrupt])];
    const { told } = await runOn(client, resume);
    expect(told['c1']).toMatch(/cancelled before it ran/);
    expect(countersign.callOf('c2').state).toBe('awaiting_approval');
    expect(ran).toEqual([]);
  });

  it('cancels a call that people approved meanwhile', async () => {
    const { countersign, client, interrupts } = await interrupted();
    countersign.approve('c1');
    const { told } = await runOn(client, answers(interrupts, 'cancelled'));
    expect(told['c1']).toMatch(/cancelled before it ran/);
    expect(ran).toEqual([]);
  });

  it('to an interrupt that the thread does not have changes nothing', async () => {
    const { countersign, client, interrupts } = await interrupted();
    const resume = [...answers(interrupts), { interruptId: 'apr_other', status: 'cancelled' as const }];
    expect((await runOn(client, resume)).interrupts).toEqual(interrupts);
    expect(countersign.callOf('c2').state).toBe('awaiting_approval');
  });
});

describe('a client that does not know the interrupts', () => {
  it('gets them, and the agent does not run', async () => {
    const { countersign, interrupts } = await interrupted();
    countersign.approve('c1');
    const fresh = await runOn(clientOf(await processOn(countersign)));
    expect(fresh.interrupts).toEqual(interrupts.slice(1));
    expect(fresh.told).toEqual({});
    expect(ran).toEqual([]);
  });
});

describe('an agent that asks something itself', () => {
  const own: Interrupt = { id: 'own', reason: 'question', message: 'Which account?' };

  it('is passed on together with the approvals, and alone once they are decided', async () => {
    const countersign = createFakeCountersign();
    const client = clientOf(await processOn(countersign, { asks: [own] }));
    const { interrupts } = await runOn(client);
    expect(interrupts.map(({ toolCallId, id }) => toolCallId ?? id)).toEqual(['own', 'c1', 'c2']);
    countersign.approve('c1');
    countersign.approve('c2');
    expect((await runOn(client, answers(interrupts))).interrupts).toEqual([own]);
  });
});

describe('two users of one server', () => {
  const clientFor = (user: string, url: string): HttpAgent =>
    new HttpAgent({ url, threadId: 'thread', headers: { authorization: user } });

  it('have runs of their own, though one names the thread of the other', async () => {
    const countersign = createFakeCountersign();
    const url = await processOn(countersign, { runOf: (user, threadId) => `${user}/${threadId}` });
    const ann = await runOn(clientFor('ann', url));
    const eve = clientFor('eve', url);
    const seen = (await runOn(eve)).interrupts;
    const [stolen] = ann.interrupts as [Interrupt];
    expect(seen.map(({ id }) => id)).not.toContain(stolen.id);
    await runOn(eve, [...answers(seen), ...answers([stolen], 'cancelled')]);
    expect((await runOn(clientFor('ann', url))).interrupts).toEqual(ann.interrupts);
  });
});

describe('without Countersign', () => {
  it('nothing runs, and the run ends with the error', async () => {
    const countersign = createFakeCountersign();
    countersign.setAway(true);
    const { errors } = await runOn(clientOf(await processOn(countersign)));
    expect(errors).toEqual([expect.stringContaining('ECONNREFUSED')]);
    expect(ran).toEqual([]);
  });
});
