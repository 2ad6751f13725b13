import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from '@jest/globals';
import { openWorld } from '../testing/world.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-frames-'));
writeFileSync(join(folder, 'index.html'), '<!doctype html><title>Countersign</title>');
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function framedBy(path: string, frameAncestors?: readonly string[]): Promise<readonly (string | null)[]> {
  const world = await openWorld({ inbox: { folder, frameAncestors } });
  closing.push(world.close);
  const { headers } = await fetch(`${world.url}${path}`);
  const policy = headers.get('content-security-policy') ?? '';
  return [/frame-ancestors [^;]*/.exec(policy)?.[0] ?? null, headers.get('x-frame-options')];
}

const desk = ['https://desk.example.com', 'http://localhost:5173'];

it('lets no page frame the inbox by default', async () => {
  expect(await framedBy('/')).toEqual(["frame-ancestors 'none'", 'DENY']);
});

it('lets the pages of the named origins frame the inbox, and says so in one way', async () => {
  const named = ['frame-ancestors https://desk.example.com http://localhost:5173', null];
  expect(await framedBy('/', desk)).toEqual(named);
  expect(await framedBy('/approvals/apr_1', desk)).toEqual(named);
});

it('lets no page frame the API, also where the inbox may be framed', async () => {
  expect(await framedBy('/v1/approvals', desk)).toEqual(["frame-ancestors 'none'", 'DENY']);
  expect(await framedBy('/healthz', desk)).toEqual(["frame-ancestors 'none'", 'DENY']);
});
