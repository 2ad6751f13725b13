import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { actionDigest, canonicalJson } from '@countersign/contracts';
import type { DigestInput, ErrorCode, JsonObject } from '@countersign/contracts';
import { problemWords, statusOf } from '@countersign/shell';

const guide = readFileSync(join(import.meta.dirname, '../../docs/http.md'), 'utf8');

it('has the bytes and the digest of its example', () => {
  const section = guide.slice(guide.indexOf('### The digest'));
  const [input, args] = [...section.matchAll(/```json\n([^]*?)```/g)].map(
    ([, text = '']) => JSON.parse(text) as unknown,
  );
  const bytes = Buffer.from(/```text\n([^]*?)\n```/.exec(section)?.[1] ?? '');
  const count = /these (\d+)/.exec(section)?.[1];
  const digest = /the digest is `(sha256:[0-9a-f]{64})`/.exec(section)?.[1];
  expect(canonicalJson({ ...(input as JsonObject), arguments: args as JsonObject })).toBe(bytes.toString());
  expect(bytes.length).toBe(Number(count));
  expect(`sha256:${createHash('sha256').update(bytes).digest('hex')}`).toBe(digest);
  expect(actionDigest(input as DigestInput, args as JsonObject)).toBe(digest);
});

it('says for each code, with its status, what to do', () => {
  const table = guide.slice(guide.indexOf('| status | codes | do |')).split('\n\n')[0] ?? '';
  const rows = table.trim().split('\n').slice(2);
  const named = rows.flatMap((row) => {
    const [, statuses = '', codes = '', remedy = ''] = row.split('|').map((cell) => cell.trim());
    expect(remedy.length).toBeGreaterThan(3);
    return [...codes.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => [code, statuses.split(', ')] as const);
  });
  expect(named.map(([code]) => code).toSorted()).toEqual(Object.keys(problemWords).toSorted());
  for (const [code, statuses] of named) expect(statuses).toContain(String(statusOf(code as ErrorCode)));
});
