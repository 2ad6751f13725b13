import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GateTool, JsonObject } from '@countersign/worker-sdk';
import { createFileTools } from '../../examples/demo/file-tools.ts';
import { createSqlTools } from '../../examples/demo/sql-tools.ts';
import { createWebTools } from '../../examples/demo/web-tools.ts';

const context = { runId: 'r', agentId: 'a', toolCallId: 'c', messages: [], batch: [], context: undefined };
const execution = {
  callId: 'tc',
  runId: 'r',
  agentId: 'a',
  toolCallId: 'c',
  idempotencyKey: 'k',
  attempt: 1,
  signal: new AbortController().signal,
  approval: null,
  messages: [],
  context: undefined,
  ask: () => Promise.reject(new Error('this test asks no person')),
  receipt: () => null,
};

let folder = '';
let tools: readonly GateTool[] = [];

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-demo-tools-')));
  for (const name of ['workspace', 'workspace/notes', 'outside', 'workspace-two']) mkdirSync(join(folder, name));
  symlinkSync('../outside', join(folder, 'workspace', 'link'));
  symlinkSync('../outside/not-there-yet', join(folder, 'workspace', 'dangling'));
  symlinkSync('loop', join(folder, 'workspace', 'loop'));
  symlinkSync('notes', join(folder, 'workspace', 'inner'));
  const domains = join(folder, 'domains.json');
  writeFileSync(domains, '["docs.example.test"]');
  tools = [
    ...createFileTools(join(folder, 'workspace')),
    ...createWebTools(domains),
    ...createSqlTools(join(folder, 'orders.db')),
  ];
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** `free`, `gated` or `invalid`, and the arguments that people would be asked about. */
async function judged(toolName: string, args: JsonObject) {
  const tool = tools.find(({ name }) => name === toolName);
  const checked = await tool?.check(args);
  if (checked?.valid !== true) return { verdict: 'invalid' };
  const { needsApproval } = await checked.judge(context);
  return { verdict: needsApproval ? 'gated' : 'free', asked: checked.arguments, run: checked.execute };
}

describe('a file', () => {
  it.each([
    ['notes/a.md', 'free'],
    ['new/folder/a.md', 'free'],
    ['inner/a.md', 'free'],
    ['notes/../notes/a.md', 'free'],
    ['.', 'free'],
    ['../outside/a.md', 'gated'],
    ['../workspace-two/a.md', 'gated'],
    ['notes/../../outside/a.md', 'gated'],
    ['/etc/hosts', 'gated'],
    ['link/a.md', 'gated'],
    ['link/new/folder/a.md', 'gated'],
    ['dangling', 'gated'],
    ['loop', 'invalid'],
    ['', 'invalid'],
  ])('%j is %s', async (path, verdict) => {
    expect((await judged('write_file', { path, content: 'x' })).verdict).toBe(verdict);
  });

  it('is asked about under its real path', async () => {
    const { asked } = await judged('delete_file', { path: 'dangling' });
    expect(asked).toEqual({ path: join(folder, 'outside', 'not-there-yet') });
  });

  it('outside is not touched without an approval, even if the call was not gated', async () => {
    const { run } = await judged('write_file', { path: '../outside/a.md', content: 'x' });
    await expect(run?.(execution)).rejects.toThrow('outside of the workspace');
  });
});

describe('a fetch', () => {
  it.each([
    ['http://docs.example.test/a', 'free'],
    ['http://DOCS.Example.Test:8080/a', 'free'],
    ['http://docs.example.test.evil.test/', 'gated'],
    ['http://docs.example.test@evil.test/', 'gated'],
    ['http://evil.test/docs.example.test', 'gated'],
    ['http://docs.example.test./', 'gated'],
    ['file:///etc/passwd', 'invalid'],
    ['docs.example.test', 'invalid'],
  ])('of %s is %s', async (url, verdict) => {
    expect((await judged('web_fetch', { url })).verdict).toBe(verdict);
  });

  it('from an unlisted domain does not happen without an approval, even if the call was not gated', async () => {
    const { run } = await judged('web_fetch', { url: 'http://evil.test/' });
    await expect(run?.(execution)).rejects.toThrow('not on a listed domain');
  });

  it('needs an approval for each new domain', async () => {
    expect(await judged('add_domain', { domain: 'News.Example.Test' })).toMatchObject({
      verdict: 'gated',
      asked: { domain: 'news.example.test' },
    });
  });
});

describe('a statement', () => {
  it.each([
    ['SELECT * FROM orders', 'free'],
    ['WITH one AS (SELECT 1) SELECT * FROM one;', 'free'],
    ["SELECT 'DELETE FROM orders'", 'free'],
    ['/* SELECT */ DELETE FROM orders', 'gated'],
    ['WITH one AS (SELECT 1) DELETE FROM orders', 'gated'],
    ['UPDATE orders SET status = 1 RETURNING *', 'gated'],
    ["ATTACH 'other.db' AS other", 'gated'],
    ['PRAGMA user_version = 7', 'gated'],
    ['CREATE TEMP TABLE t (a)', 'gated'],
    ['SELECT 1; DELETE FROM orders', 'invalid'],
    ['SELEKT 1', 'invalid'],
  ])('%s is %s', async (sql, verdict) => {
    expect((await judged('execute_sql', { sql })).verdict).toBe(verdict);
  });

  it('that writes fails without an approval, even if the call was not gated', async () => {
    const { run } = await judged('execute_sql', { sql: 'DELETE FROM orders' });
    await expect(run?.(execution)).rejects.toThrow();
    const { run: read } = await judged('execute_sql', { sql: 'SELECT count(*) AS n FROM orders' });
    expect(await read?.(execution)).toEqual([{ n: 3 }]);
  });
});
