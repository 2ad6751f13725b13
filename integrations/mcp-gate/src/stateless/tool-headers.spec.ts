import { expect, it } from '@jest/globals';
import { createToolHeaders } from './tool-headers.js';

const tool = (name: string, schema: object) => ({ name, inputSchema: { type: 'object', ...schema } });
const marked = { type: 'string', 'x-mcp-header': 'Branch' };

it('finds the marked arguments of a tool on any page, until the list changes', async () => {
  let listings = 0;
  const headers = createToolHeaders(async (_, { cursor }) => {
    listings += 1;
    if (cursor === undefined) return { result: { tools: [], nextCursor: 'next' } };
    const at = { type: 'object', properties: { branch: marked } };
    return {
      result: { tools: [tool('pay', { properties: { at } }), tool('odd', { properties: { a: { items: marked } } })] },
    };
  });
  expect(await headers.of('pay')).toEqual([{ header: 'Mcp-Param-Branch', path: ['at', 'branch'] }]);
  expect(await headers.of('odd')).toEqual([]);
  expect(listings).toBe(2);
  headers.forget();
  await headers.of('pay');
  expect(listings).toBe(4);
});

it('fails when the server does not list its tools in time, and asks again at the next call', async () => {
  const replies = [new Promise<never>(() => undefined), Promise.resolve({ result: { tools: [] } })];
  const headers = createToolHeaders(() => replies.shift() ?? Promise.reject(new Error('asked too often')), 5);
  await expect(headers.of('pay')).rejects.toThrow('did not list its tools within');
  expect(await headers.of('pay')).toEqual([]);
});
