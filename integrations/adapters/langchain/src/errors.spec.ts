// LangChain gives each error of a tool to the model alone. Here the program hears of it, too.
import { join } from 'node:path';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { gateTools, type Gate, type GateToolsOptions } from './gate-tools.js';

const ran: number[] = [];
const gates: Gate[] = [];
const logged: { readonly fields: unknown; readonly message: string }[] = [];
const log: GateToolsOptions['log'] = {
  warn: () => undefined,
  error: (fields, message) => void logged.push({ fields, message }),
};
const refund = tool(({ amount }) => ran.push(amount), { name: 'refund', schema: z.strictObject({ amount: z.int() }) });
const call = (id: string) => ({ name: 'refund', args: { amount: 50 }, id });

afterEach(async () => {
  ran.length = 0;
  logged.length = 0;
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

function agentOver(options: Partial<GateToolsOptions>, turns: readonly (readonly string[])[] = [['c1']]) {
  const common = { url: 'http://fake.test', token: 't', agentId: 'a', tools: [refund], attempts: 1 };
  const gate = gateTools({ ...common, options: { refund: { needsApproval: false } }, ...options });
  gates.push(gate);
  const model = fakeModel();
  for (const ids of turns) model.respond(new AIMessage({ content: '', tool_calls: ids.map(call) }));
  model.respond(new AIMessage('done'));
  return createAgent({ model, tools: gate.tools, checkpointer: new MemorySaver() });
}

async function told(agent: ReturnType<typeof agentOver>) {
  const thread = { configurable: { thread_id: randomUUID() } };
  const { messages } = await agent.invoke({ messages: [new HumanMessage('go')] }, thread);
  expect(messages.at(-1)?.text).toBe('done');
  return messages.filter((one) => ToolMessage.isInstance(one)).map(({ status, text }) => ({ status, text }));
}

describe('a real Countersign', () => {
  let server: KitServer;
  beforeAll(async () => {
    const root = join(import.meta.dirname, '..', '..', '..', '..');
    server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  });
  afterAll(() => server.stop());

  const tokensRemedy = /The gate needs the token of an agent in COUNTERSIGN_TOKEN, and of a resolver in/;
  it.each<[string, (given: KitServer) => Partial<GateToolsOptions>, RegExp]>([
    ['a wrong token', () => ({ token: 'cs_wrong' }), tokensRemedy],
    ['swapped tokens', (given) => ({ token: given.workerToken, resolverToken: given.agentToken }), tokensRemedy],
    ['an address with /v1', ({ url }) => ({ url: `${url}/v1` }), /not-found: this path does not exist/],
    [
      'a wrong port',
      () => ({ url: 'http://127.0.0.1:9' }),
      /no response from http:\/\/127\.0\.0\.1:9.*Start Countersign/,
    ],
  ])('tells the model plainly, and the program at error level, of %s', async (_, wrong, words) => {
    const { url, agentToken: token, workerToken: resolverToken } = server;
    const [result] = await told(agentOver({ url, token, resolverToken, log, ...wrong(server) }));
    expect(result).toEqual({ status: 'error', text: expect.stringMatching(/^The tool did not run: /) });
    expect(result?.text).toMatch(words);
    expect(result?.text).not.toContain('mistakes');
    expect(logged).toEqual([{ fields: expect.objectContaining({ toolName: 'refund' }), message: result?.text }]);
    expect(ran).toEqual([]);
  });
});

describe('the log', () => {
  it('has each cause once, and again after Countersign was there', async () => {
    const countersign = createFakeCountersign();
    const away = new Set(['c1', 'c2', 'c3', 'c5']);
    const fetch: typeof globalThis.fetch = async (input, init) => {
      const body = typeof init?.body === 'string' ? init.body : '';
      countersign.setAway([...away].some((id) => body.includes(`"${id}"`)));
      return countersign.fetch(input, init);
    };
    await told(agentOver({ fetch, log }, [['c1', 'c2'], ['c3'], ['c4'], ['c5']]));
    expect(logged.map(({ fields }) => fields)).toMatchObject([{ code: 'unreachable' }, { toolCallId: 'c5' }]);
    expect(ran).toEqual([50]);
  });

  it('is the console by default', async () => {
    const line = jest.spyOn(console, 'error').mockReturnValue();
    const countersign = createFakeCountersign();
    countersign.setAway(true);
    await told(agentOver({ fetch: countersign.fetch }));
    expect(line.mock.calls).toEqual([[expect.stringMatching(/^The tool did not run: no response/), expect.anything()]]);
  });
});

it('says that the tool may have taken effect when its result could not be recorded', async () => {
  const countersign = createFakeCountersign();
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    if (!pathname.endsWith('/outcome')) return countersign.fetch(input, init);
    const problem = { type: 'about:blank', title: 'x', status: 400, code: 'invalid-request', detail: 'not readable' };
    return Response.json(problem, { status: 400 });
  };
  const [result] = await told(agentOver({ fetch, log }));
  expect(ran).toEqual([50]);
  expect(result?.text).toMatch(/^The tool was started, and may have taken effect: .*not readable/);
  expect(logged.map(({ message }) => message)).toContain(result?.text);
});
