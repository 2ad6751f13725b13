import { afterEach, describe, expect, it } from '@jest/globals';
import { closeStatelessWires, openStatelessWire, sessionServer } from '../testing/stateless-wire.js';
import { closeVersionPlaces, openVersionPlace } from '../testing/version-place.js';

afterEach(closeStatelessWires);
afterEach(closeVersionPlaces);

const urls = { elicitation: { url: {} } };
const pay = (amount: number, more: object = {}) => ({ name: 'pay', arguments: { amount }, ...more });
const accepted = { inputResponses: { 'countersign-approval': { action: 'accept' } } };

/** A client that opens addresses, whose call waits for a person. */
async function openWaiting() {
  const ran: unknown[] = [];
  const place = await openStatelessWire(sessionServer(ran));
  const call = (params: object) => place.ask('tools/call', { ...params }, urls);
  const { result } = await call(pay(5));
  const { requestState } = result as { requestState: string };
  return { ...place, ran, call, result, requestState };
}

describe('a stateless client that opens addresses', () => {
  it('is sent to the card, and waits for the decision round after round', async () => {
    const shown: unknown[] = [];
    const { client, ran, countersign, asked } = await openVersionPlace(
      { holdMs: 1_000 },
      { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities: urls },
    );
    client.setRequestHandler('elicitation/create', ({ params }) => {
      shown.push(params);
      setTimeout(() => countersign.approve(asked[0]!.toolCallId), 1_200);
      return { action: 'accept' };
    });
    expect(await client.callTool({ name: 'refund', arguments: { amount: 5 } })).toMatchObject({
      content: [{ text: 'refunded 5' }],
    });
    expect(shown).toEqual([
      {
        mode: 'url',
        message: expect.stringContaining('A person must decide'),
        url: expect.stringMatching(/^http:\/\/fake\.test/),
      },
    ]);
    expect(ran).toEqual([5]);
    expect(new Set(asked.map(({ toolCallId }) => toolCallId)).size).toBe(1);
  });

  it('gets the state of its request and one address', async () => {
    const { result, ran } = await openWaiting();
    expect(result).toMatchObject({
      resultType: 'input_required',
      requestState: expect.stringMatching(/^approval\./),
      inputRequests: { 'countersign-approval': { method: 'elicitation/create', params: { mode: 'url' } } },
    });
    expect(ran).toEqual([]);
  });

  it('cannot run the tool with a state alone', async () => {
    const { call, requestState, ran } = await openWaiting();
    const again = await call(pay(5, { requestState, ...accepted }));
    expect(again).toMatchObject({ result: { resultType: 'complete', isError: true } });
    expect(ran).toEqual([]);
  });

  it.each([
    ['other arguments', (state: string) => pay(6, { requestState: state })],
    ['another tool', (state: string) => ({ ...pay(5), name: 'read', requestState: state })],
    [
      'a changed state',
      (state: string) => pay(5, { requestState: state.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) }),
    ],
    ['an invented state', () => pay(5, { requestState: 'approval.e30.AAAA' })],
    ['the state of a round that there never was', () => pay(5, { requestState: 'round.1' })],
  ])('gets an error for %s, also after the approval, and nothing runs', async (_, changed) => {
    const { call, requestState, ran, countersign, asked } = await openWaiting();
    countersign.approve(asked[0]!.toolCallId);
    expect(await call(changed(requestState))).toMatchObject({ error: { code: -32602 } });
    expect(ran).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  it('runs the tool once, however often it uses the state after the approval', async () => {
    const { call, requestState, ran, countersign, asked } = await openWaiting();
    countersign.approve(asked[0]!.toolCallId);
    const replies = await Promise.all([1, 2, 3].map(() => call(pay(5, { requestState }))));
    replies.push(await call(pay(5, { requestState })));
    expect(ran).toEqual([{ amount: 5 }]);
    expect(replies.at(-1)).toMatchObject({ result: { content: [{ text: 'done' }] } });
  });

  it('gets the result pending when it does not open the address', async () => {
    const { call, requestState } = await openWaiting();
    const declined = { inputResponses: { 'countersign-approval': { action: 'decline' } } };
    expect(await call(pay(5, { requestState, ...declined }))).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringMatching(/^pending/) }] },
    });
  });

  it('is asked again when the server changed the tool after people were asked', async () => {
    const ran: unknown[] = [];
    let description = 'pays';
    const { ask, countersign, asked, send } = await openStatelessWire(
      sessionServer(ran, ({ method }) =>
        method === 'tools/list'
          ? { tools: [{ name: 'pay', description, inputSchema: { type: 'object' } }] }
          : undefined,
      ),
    );
    const { result } = await ask('tools/call', pay(5), urls);
    description = 'pays twice';
    await send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    countersign.approve(asked[0]!.toolCallId);
    const { requestState } = result as { requestState: string };
    expect(await ask('tools/call', pay(5, { requestState }), urls)).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('changed its definition') }] },
    });
    expect(ran).toEqual([]);
  });
});

it('a stateless client that opens no addresses gets the result pending', async () => {
  const { ask } = await openStatelessWire(sessionServer([]));
  expect(await ask('tools/call', pay(5))).toMatchObject({
    result: { resultType: 'complete', isError: true, _meta: { 'countersign/call': { status: 'pending' } } },
  });
});
