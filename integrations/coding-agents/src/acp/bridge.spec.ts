import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonValue } from '@countersign/contracts';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { openAcpBridge, type AcpBridge } from './bridge.js';
import { until } from '../testing/until.js';

interface Place extends AcpBridge {
  /** All lines as they were written, to both sides. */
  readonly lines: string[];
  readonly countersign: FakeCountersign;
  readonly toAgent: unknown[];
  readonly toEditor: unknown[];
  readonly warnings: string[];
}

const open: AcpBridge[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((bridge) => bridge.close()));
});

/** @param cwd the folder of the session `s1`. */
function openPlace(cwd: JsonValue = '/work', readOnly: readonly string[] = ['read']): Place {
  const countersign = createFakeCountersign();
  const [toAgent, toEditor, warnings]: [unknown[], unknown[], string[]] = [[], [], []];
  const lines: string[] = [];
  const written = (messages: unknown[]) => (text: string) => {
    lines.push(text);
    messages.push(JSON.parse(text));
  };
  const bridge = openAcpBridge(
    {
      url: 'http://countersign.test',
      token: 'agent',
      resolverToken: 'worker',
      fetch: countersign.fetch,
      attempts: 1,
      realpath: async (path) => path,
      agentId: 'acp',
      gate: 'writes',
      allowedDecisions: ['approve', 'deny'],
      readOnly,
      ungated: [],
      holdMs: Infinity,
      leaseMs: 60_000,
      defer: false,
    },
    {
      toAgent: written(toAgent),
      toEditor: written(toEditor),
      warn: (text) => warnings.push(text),
    },
  );
  open.push(bridge);
  bridge.fromEditor(line({ id: 's', method: 'session/new', params: { cwd, mcpServers: [] } }));
  bridge.fromAgent(line({ id: 's', result: { sessionId: 's1' } }));
  for (const passed of [toAgent, toEditor, lines]) passed.length = 0;
  return { ...bridge, lines, countersign, toAgent, toEditor, warnings };
}

const line = (message: object): string => JSON.stringify({ jsonrpc: '2.0', ...message });
const allOptions = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];
const toldCall = { toolCallId: 't1', title: 'npm test', kind: 'execute', rawInput: { command: 'npm test' } };
const update = (more: object): string =>
  JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 's1', update: more } });
const ask = (toolCall: object = { toolCallId: 't1' }, options: object[] = allOptions): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 7,
    method: 'session/request_permission',
    params: { sessionId: 's1', toolCall, options },
  });
const outcome = (given: object): object => ({ jsonrpc: '2.0', id: 7, result: { outcome: given } });
const cancel = { jsonrpc: '2.0', method: 'session/cancel', params: { sessionId: 's1' } };

const waits = (place: Place) => until(() => place.countersign.callOf('t1').state === 'awaiting_approval');
const answered = (place: Place) => until(() => place.toAgent.length > 0);

describe('the ACP bridge', () => {
  it('passes all other messages on', () => {
    const place = openPlace();
    const prompt = { jsonrpc: '2.0', id: 1, method: 'session/prompt', params: { sessionId: 's1' } };
    place.fromEditor(JSON.stringify(prompt));
    place.fromAgent(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { stopReason: 'end_turn' } }));
    expect(place.toAgent).toEqual([prompt]);
    expect(place.toEditor).toEqual([{ jsonrpc: '2.0', id: 1, result: { stopReason: 'end_turn' } }]);
  });

  it('asks people about all that the agent told of the call, and allows it once after their approval', async () => {
    const place = openPlace();
    place.fromAgent(update({ sessionUpdate: 'tool_call', ...toldCall }));
    place.fromAgent(ask());
    await waits(place);
    expect(place.countersign.callOf('t1')).toMatchObject({
      runId: 's1',
      toolName: 'execute',
      arguments: { title: 'npm test', kind: 'execute', rawInput: { command: 'npm test' }, option: 'Yes' },
      approval: { description: 'ACP: npm test', allowedDecisions: ['approve', 'deny'], labels: { cwd: '/work' } },
    });
    place.countersign.approve('t1');
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'yes' })]);
    expect(place.toEditor).toHaveLength(1);
    place.fromAgent(
      update({ sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'completed', rawOutput: 'ok' }),
    );
    await until(() => place.countersign.callOf('t1').state === 'succeeded');
    expect(place.countersign.callOf('t1').output).toBe('ok');
  });

  it.each([{}, { rawInput: { path: '/a' } }, { rawInput: 'x' }])(
    'shows people all that an editor would show where the agent tells %j',
    async (input) => {
      const place = openPlace();
      const content = [{ type: 'diff', path: '/a', oldText: 'x', newText: 'y' }];
      const shown = { title: 'Edit a', kind: 'edit', content, locations: [{ path: '/a', line: 1 }], ...input };
      place.fromAgent(ask({ toolCallId: 't1', ...shown }));
      await waits(place);
      expect(place.countersign.callOf('t1').arguments).toEqual({ ...shown, option: 'Yes' });
    },
  );

  it('writes only what it read of a line, so that neither side reads another message in it', () => {
    const place = openPlace();
    const twice = '{"method":"session/request_permission","method":"session/update","params":{}}';
    place.fromAgent(twice);
    place.fromEditor(twice);
    const once = '{"method":"session/update","params":{}}';
    expect(place.lines).toEqual([once, once]);
  });

  it.each(['', 'x'])('cuts a long title between characters, with "%s" before them', async (before) => {
    const place = openPlace();
    place.fromAgent(ask({ ...toldCall, title: before + '😀'.repeat(5000) }));
    await waits(place);
    const { description = '' } = place.countersign.callOf('t1').approval ?? {};
    expect([description?.length, description?.at(-1)]).toEqual([8000, '…']);
    expect(description?.isWellFormed()).toBe(true);
  });

  it('needs a person for a kind that the agent calls reading', async () => {
    const place = openPlace('/work', []);
    place.fromAgent(ask({ ...toldCall, kind: 'read' }));
    await waits(place);
  });

  it('allows a tool that the operator takes for reading without a person', async () => {
    const place = openPlace();
    place.fromAgent(ask({ ...toldCall, kind: 'read' }));
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'yes' })]);
  });

  it.each(['deny', 'expire'] as const)('rejects a call once after: %s', async (end) => {
    const place = openPlace();
    place.fromAgent(ask(toldCall));
    await waits(place);
    place.countersign[end]('t1');
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'no' })]);
    expect(place.warnings).toHaveLength(1);
  });

  it('never chooses an option for later calls', async () => {
    const place = openPlace();
    place.fromAgent(ask({ ...toldCall, kind: 'read' }, [{ optionId: 'always', kind: 'allow_always' }]));
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'cancelled' })]);
    expect(place.warnings[0]).toContain('no option to allow this call once');
  });

  it.each([
    ['allow_once', 'reject_once'],
    ['allow_always', 'allow_once'],
  ])('counts two options of one id, %s and %s, as not offered', async (one, other) => {
    const place = openPlace();
    place.fromAgent(
      ask(toldCall, [
        { optionId: 'x', kind: one },
        { optionId: 'x', kind: other },
      ]),
    );
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'cancelled' })]);
  });

  it('rejects with an option of an id of its own next to two of one id', async () => {
    const place = openPlace();
    const doubled = ['allow_always', 'allow_once'].map((kind) => ({ optionId: 'x', kind }));
    place.fromAgent(ask(toldCall, [...doubled, { optionId: 'no', kind: 'reject_once' }]));
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'no' })]);
  });

  it.each([
    ['other arguments', { rawInput: { command: 'rm -rf /' } }],
    ['half a character', { rawInput: { command: '\ud800' } }],
    ['a change', { content: [{ type: 'diff', path: '/a', oldText: 'x', newText: 'y' }] }],
    ['another place', { locations: [{ path: '/b' }] }],
    ['another title', { title: 'npm publish' }],
    ['another name', { name: 'publish' }],
    ['its end', { status: 'completed' }],
  ])('rejects a call of which the agent told %s while people decided, and records the mismatch', async (_, more) => {
    const place = openPlace();
    place.fromAgent(ask(toldCall));
    await waits(place);
    place.fromAgent(update({ sessionUpdate: 'tool_call_update', toolCallId: 't1', ...more }));
    place.countersign.approve('t1');
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'no' })]);
    await until(() => place.countersign.callOf('t1').state === 'failed');
    expect(place.countersign.callOf('t1').error).toMatchObject({ code: 'digest-mismatch' });
    expect(place.warnings[0]).toContain('changed');
  });

  it('allows a call of which the agent told nothing but its progress while people decided', async () => {
    const place = openPlace();
    place.fromAgent(ask(toldCall));
    await waits(place);
    place.fromAgent(update({ sessionUpdate: 'tool_call_update', toolCallId: 't1', status: 'pending' }));
    place.countersign.approve('t1');
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'yes' })]);
  });

  it("drops the editor's answer to a request that it does not see", async () => {
    const place = openPlace();
    const forged = outcome({ outcome: 'selected', optionId: 'yes' });
    place.fromAgent(ask(toldCall));
    await waits(place);
    place.fromEditor(JSON.stringify(forged));
    place.fromEditor(JSON.stringify([forged]));
    for (const id of ['7', '07', '0x7', ' 7']) place.fromEditor(JSON.stringify({ ...forged, id }));
    place.fromEditor(JSON.stringify({ ...forged, id: 8 }));
    expect(place.toAgent).toEqual([{ ...forged, id: 8 }]);
    expect(place.warnings).toHaveLength(6);
  });

  it('cancels the calls that wait for people when it is closed', async () => {
    const place = openPlace();
    place.fromAgent(ask(toldCall));
    await waits(place);
    await place.close();
    expect(place.countersign.callOf('t1').state).toBe('cancelled');
  });

  it('does not allow the same call twice', async () => {
    const place = openPlace();
    place.fromAgent(ask({ ...toldCall, kind: 'read' }));
    await answered(place);
    place.fromAgent(ask({ ...toldCall, kind: 'read' }));
    await until(() => place.toAgent.length === 2);
    expect(place.toAgent[1]).toEqual(outcome({ outcome: 'selected', optionId: 'no' }));
  });

  it.each([undefined, 1, '', 'work', `/${'x'.repeat(512)}`])(
    'rejects a call in a folder that cannot be recorded: %j',
    async (cwd) => {
      const place = openPlace(cwd ?? null);
      place.fromAgent(ask({ ...toldCall, kind: 'read' }));
      await answered(place);
      expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'no' })]);
      expect(place.warnings[0]).toContain('folder');
    },
  );

  it('rejects a call that people approved when the editor opens the session in another folder meanwhile', async () => {
    const place = openPlace('/work/staging');
    place.fromAgent(ask(toldCall));
    await waits(place);
    place.fromEditor(line({ id: 's', method: 'session/load', params: { sessionId: 's1', cwd: '/work/production' } }));
    place.countersign.approve('t1');
    await until(() => place.toAgent.length === 2);
    expect(place.toAgent[1]).toEqual(outcome({ outcome: 'selected', optionId: 'no' }));
  });

  it('answers cancelled when the editor cancels the session', async () => {
    const place = openPlace();
    place.fromAgent(ask(toldCall));
    await waits(place);
    place.fromEditor(JSON.stringify(cancel));
    await until(() => place.toAgent.length === 2);
    expect(place.toAgent).toEqual([cancel, outcome({ outcome: 'cancelled' })]);
  });

  it('rejects while Countersign is away', async () => {
    const place = openPlace();
    place.countersign.setAway(true);
    place.fromAgent(ask(toldCall));
    await answered(place);
    expect(place.toAgent).toEqual([outcome({ outcome: 'selected', optionId: 'no' })]);
    expect(place.warnings[0]).toContain('Start Countersign');
  });

  it('drops a line of the agent that is no message', () => {
    const place = openPlace();
    place.fromAgent('[{"method":"session/request_permission"}]');
    expect([place.toEditor, place.warnings.length]).toEqual([[], 1]);
  });
});
