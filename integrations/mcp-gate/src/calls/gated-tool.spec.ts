import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { closeGates, openPlace, textOf } from '../testing/place.js';

afterEach(closeGates);

/** A gate before a server that lists one tool with this schema. */
async function open(inputSchema: object, more: object = {}) {
  const place = await openPlace({ gate: 'none' }, {}, createFakeCountersign());
  place.server.server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: [{ name: 'balance', inputSchema: { type: 'object' as const, ...inputSchema }, ...more }],
  }));
  const call = (args: Record<string, unknown>) => place.client.callTool({ name: 'balance', arguments: args });
  return { ...place, call };
}

const withX = (x: object) => ({ properties: { x } });

describe('a schema of the MCP server', () => {
  it('with a pattern that takes a backtracking engine for ever is checked at once', async () => {
    const { call, asked } = await open(withX({ type: 'string', pattern: '^(a+)+$' }));
    const before = process.cpuUsage().user;
    const result = await call({ x: `${'a'.repeat(31)}!` });
    expect(textOf(result)).toMatch(/Invalid arguments: \/x: /);
    // A backtracking engine takes ten seconds.
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(3000);
    expect(asked).toEqual([]);
  });

  it('reaches the ledger as it is, and its arguments without its defaults', async () => {
    const schema = withX({ type: 'object', properties: { y: { default: 5 } }, default: {} });
    const { call, asked } = await open(schema);
    await call({});
    await call({ x: {} });
    expect(asked.map(({ arguments: args }) => args)).toEqual([{}, { x: {} }]);
    expect(asked[0]).toMatchObject({ toolSchema: schema });
  });

  it('may use classes of Unicode in its patterns', async () => {
    const { call, asked } = await open(withX({ type: 'string', pattern: String.raw`^\p{L}+$` }));
    await call({ x: 'ñ' });
    expect(asked).toMatchObject([{ arguments: { x: 'ñ' } }]);
    expect(textOf(await call({ x: '1' }))).toMatch(/Invalid arguments: \/x: /);
  });

  it.each([
    ['of another draft', { $schema: 'http://json-schema.org/draft-04/schema#', ...withX({ exclusiveMinimum: true }) }],
    ['of more than 256 KiB', { description: 'x'.repeat(262_144) }],
    ['with a bound that a double cannot hold', withX({ maximum: 2 ** 63 })],
    ['with a reference to another document', { $ref: 'https://example.com/schema' }],
    ['with look-behind', withX({ type: 'string', pattern: '(?<!a)b' })],
  ])('%s goes to the ledger whole', async (_, schema) => {
    const { call, asked } = await open(schema);
    await call({ any: 1 });
    expect(asked).toMatchObject([{ arguments: { any: 1 }, toolSchema: schema }]);
  });

  it('that is no text for the ledger goes there as one of any object, which keeps its marks', async () => {
    const { call, asked } = await open({ properties: { '\ud800': { type: 'string' }, x: { writeOnly: true } } });
    await call({ any: 1 });
    expect(asked).toMatchObject([{ toolSchema: { type: 'object', sensitive: true } }]);
  });

  it('whose description was cut in the middle of a character is checked, without the half of it', async () => {
    const { call, asked } = await open({ description: 'x\ud800', ...withX({ type: 'string', writeOnly: true }) });
    await call({ x: 'a' });
    expect(asked).toMatchObject([{ toolSchema: { description: 'x\ufffd', ...withX({ writeOnly: true }) } }]);
  });

  it('is checked at the gate as the ledger checks it', async () => {
    const { call, asked } = await open(withX({ type: 'string', pattern: '^(?!a)', maxLength: 3 }));
    expect(textOf(await call({ x: 'abc' }))).toMatch(/Invalid arguments: \/x: /);
    await call({ x: 'bcd' });
    expect(asked).toMatchObject([{ arguments: { x: 'bcd' } }]);
  });

  it('refuses an edit that does not fit it', async () => {
    const { refund, countersign, asked, ran } = await openPlace();
    await refund(5);
    countersign.edit(asked[0]!.toolCallId, { amount: 'much' });
    const result = await refund(5);
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toMatch(/do not match the schema/);
    expect(ran).toEqual([]);
  });
});

it('asks about arguments whose check takes more work than one request may cost', async () => {
  const allOf = Array.from({ length: 20 }, (_, maxItems) => ({ maxItems: maxItems + 1 }));
  const { call, asked } = await open(withX({ items: { allOf } }));
  const x = Array.from({ length: 30_000 }, (_, id) => [id]);
  await call({ x });
  expect(asked).toMatchObject([{ arguments: { x } }]);
});

it.each(['a\nb', 'x'.repeat(257), 'a\ud800'])('says that a tool of the name %j cannot be gated', async (name) => {
  const { client, asked } = await openPlace();
  const result = textOf(await client.callTool({ name }));
  expect(result).toMatch(/did not run: .*control characters or more than 256 .*cannot be put behind the gate/);
  expect(asked).toEqual([]);
});

it('passes on a title with half a character', async () => {
  const { call, asked } = await open({}, { annotations: { title: 'a\ud800' } });
  await call({});
  expect(asked).toMatchObject([{ hints: { title: 'a\ufffd' } }]);
});
