import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { createCollectingLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TokensError, createTokens } from './tokens.js';
import { createFileTokens, createTokensFile } from './tokens-file.js';

describe('tokens', () => {
  it('prove who sends a request, and nothing else does', () => {
    const tokens = createTokens([
      { token: 'one', principal: 'ann', roles: ['approver'], groups: ['ops'], agentIds: ['a-*'] },
    ]);
    expect(tokens.actorOf('one', 'api')).toEqual({
      tenant: 'default',
      principal: 'ann',
      roles: new Set(['approver']),
      groups: ['ops'],
      agentIds: ['a-*'],
      via: 'api',
      assurance: 'medium',
      // The first digits of `printf one | sha256sum`.
      credential: 'token:7692c3ad3540bb80',
    });
    expect(tokens.actorOf('one', 'cli')).toMatchObject({ via: 'cli', assurance: 'medium' });
    expect(tokens.actorOf('one', 'mcp')).toMatchObject({ via: 'mcp', assurance: 'low' });
    for (const other of ['', 'on', 'one ', 'ONE', 'one\0', 'two']) expect(tokens.actorOf(other, 'api')).toBeUndefined();
  });

  it('know the actors of tokens in force, and not those of sessions or of tokens that were read before', () => {
    const entries = [{ token: 'one', principal: 'ann', roles: ['approver'] }];
    const [tokens, after] = [createTokens(entries), createTokens(entries)];
    const actor = tokens.actorOf('one', 'api');
    const inSession = tokens.actorOfHash(hash('sha256', 'one'));
    if (actor === undefined || inSession === undefined) throw new Error('the token must be known');
    expect(tokens.isInForce(actor)).toBe(true);
    for (const other of [{ ...actor }, inSession]) expect(tokens.isInForce(other)).toBe(false);
    expect(after.isInForce(actor)).toBe(false);
  });

  it('have at most the assurance of their entry, also in a session of the inbox and under another name of the client', () => {
    const entry = { principal: 'ann', roles: ['approver'] };
    const tokens = createTokens([
      { token: 'capped', maxAssurance: 'low', ...entry },
      { token: 'roomy', maxAssurance: 'high', ...entry },
    ]);
    for (const via of ['api', 'cli', 'mcp'] as const)
      expect(tokens.actorOf('capped', via)).toMatchObject({ via, assurance: 'low' });
    expect(tokens.actorOfHash(hash('sha256', 'capped'))).toMatchObject({ via: 'inbox', assurance: 'low' });
    expect(tokens.actorOf('roomy', 'api')).toMatchObject({ assurance: 'medium' });
    expect(() => createTokens([{ token: 'x', principal: 'bot', roles: ['agent'], maxAssurance: 'low' }])).toThrow(
      /maxAssurance: is only for an entry with the role approver/,
    );
  });

  it('may be given as their SHA-256, in either case', () => {
    const tokenSha256 = hash('sha256', 's3cret').toUpperCase();
    const tokens = createTokens([{ tokenSha256, principal: 'bot', roles: ['agent'], tenant: 'acme' }]);
    expect(tokens.actorOf('s3cret', 'api')).toMatchObject({ principal: 'bot', tenant: 'acme', agentIds: [] });
    expect(tokens.actorOf(tokenSha256, 'api')).toBeUndefined();
  });

  it('are not kept', () => {
    const tokens = createTokens([{ token: 'keep-me-not', principal: 'ann', roles: [] }]);
    expect(inspect(tokens, { depth: 10, showHidden: true })).not.toContain('keep-me-not');
  });

  it('name every problem at once, with index and path, and no token', () => {
    const entries = [
      { token: 'secret-1', principal: 'ann', roles: ['approver'] },
      { principal: '', roles: ['king'], colour: 'red' },
      { token: 'secret-1', principal: 'bob', roles: [] },
      { token: 'has space', tokenSha256: 'abc', principal: 'eve', roles: 'agent' },
    ];
    const error = catchError(() => createTokens(entries, 'tokens.json'));
    const paths = error.problems.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['1.principal', '1.roles.0', '1', '3.token', '3.tokenSha256', '3.roles']),
    );
    expect(error.message).not.toContain('secret-1');
    expect(error.message).not.toContain('has space');
  });

  it('are refused with a reserved principal or a bad glob, with cause and remedy', () => {
    const entries = ['countersign', 'countersign-resolver', 'policy', 'Operator'].map((principal, index) => ({
      token: `t${String(index)}`,
      principal,
      roles: ['agent'],
    }));
    const { problems } = catchError(() => createTokens(entries));
    expect(problems.map(({ path }) => path)).toEqual(['0.principal', '1.principal', '2.principal', '3.principal']);
    expect(problems[0]?.problem).toMatch(/reserves for itself .*choose another/);
    const globs = ['billing-{eu,us}', '', 'two words'].map((glob, index) => ({
      token: `t${String(index)}`,
      principal: 'ann',
      roles: ['agent'],
      agentIds: ['ok-*', glob],
    }));
    expect(catchError(() => createTokens(globs)).problems).toEqual(
      [/uses \[, \], \{, \}.*pattern with \* and \?/, /is empty; write the name/, /white space/].map(
        (problem, index) => ({
          path: `${String(index)}.agentIds.1`,
          problem: expect.stringMatching(problem),
        }),
      ),
    );
  });

  it('are refused when two entries have the same, or an entry has none or both', () => {
    const twice = [0, 1].map((n) => ({ token: 'same', principal: `p${n}`, roles: [] }));
    expect(catchError(() => createTokens(twice)).problems).toEqual([
      { path: '1.token', problem: 'repeats the token of entry 0' },
    ]);
    expect(() => createTokens([{ principal: 'x', roles: [] }])).toThrow('give either token or tokenSha256');
    expect(() => createTokens([{ token: 't', tokenSha256: '0'.repeat(64), principal: 'x', roles: [] }])).toThrow(
      'either',
    );
    expect(() => createTokens({ token: 't' })).toThrow(TokensError);
  });
});

describe('a tokens file', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-tokens-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is made once, for its owner alone, with three different tokens', () => {
    const path = join(folder, 'data', 'tokens.json');
    const made = createTokensFile(path);
    expect(made?.map(({ principal, roles }) => [principal, roles])).toEqual([
      ['agent', ['agent']],
      ['me', ['approver', 'auditor', 'admin']],
      ['worker', ['resolver']],
    ]);
    expect(made?.map(({ agentIds }) => agentIds)).toEqual([['*'], undefined, undefined]);
    expect(new Set(made?.map(({ token }) => token)).size).toBe(3);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const text = readFileSync(path, 'utf8');
    expect(createTokensFile(path)).toBeUndefined();
    expect(readFileSync(path, 'utf8')).toBe(text);
    const tokens = createFileTokens(path, createCollectingLog());
    expect(tokens.actorOf(made?.[1]?.token ?? '', 'api')?.principal).toBe('me');
    tokens.close();
  });

  it('without an entry is used, with a warning', () => {
    const [path, log] = [join(folder, 'tokens.json'), createCollectingLog()];
    writeFileSync(path, '[]');
    createFileTokens(path, log).close();
    expect(log.entries).toMatchObject([
      { level: 'warn', message: expect.stringContaining('sign-in with a token is impossible') },
    ]);
  });

  it('that cannot be read is named', () => {
    const path = join(folder, 'nowhere.json');
    const { problems, message } = catchError(() => createFileTokens(path, createCollectingLog()));
    expect(problems).toMatchObject([
      { path: 'COUNTERSIGN_TOKENS_FILE', problem: `file not found: ${path}. Create it or unset the variable.` },
    ]);
    expect(message).toMatch(`${path}:\n`);
  });

  it('is read again on request; one that is broken changes nothing and is logged without its content', () => {
    const path = join(folder, 'tokens.json');
    const log = createCollectingLog();
    writeFileSync(path, JSON.stringify([{ token: 'old', principal: 'ann', roles: [] }]));
    const tokens = createFileTokens(path, log);
    writeFileSync(path, JSON.stringify([{ token: 'new', principal: 'ann', roles: [] }]));
    tokens.reload();
    expect([tokens.actorOf('old', 'api'), tokens.actorOf('new', 'api')?.principal]).toEqual([undefined, 'ann']);
    writeFileSync(path, '[{"token":"leaky"');
    tokens.reload();
    expect(tokens.actorOf('new', 'api')?.principal).toBe('ann');
    expect(inspect(log.entries, { depth: 10 })).not.toContain('leaky');
    expect(log.entries.map(({ level }) => level)).toEqual(['info', 'error']);
    tokens.close();
  });

  it('that is changed is noticed', async () => {
    const path = join(folder, 'tokens.json');
    writeFileSync(path, JSON.stringify([{ token: 'old', principal: 'ann', roles: [] }]));
    const tokens = createFileTokens(path, createCollectingLog());
    await new Promise((resolve) => setTimeout(resolve, 50));
    writeFileSync(path, JSON.stringify([{ token: 'new', principal: 'bob', roles: [] }]));
    for (let tries = 0; tries < 100 && tokens.actorOf('new', 'api') === undefined; tries += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(tokens.actorOf('new', 'api')?.principal).toBe('bob');
    tokens.close();
  });

  it('that cannot be read is refused at the start, without its content', () => {
    const path = join(folder, 'tokens.json');
    writeFileSync(path, '[{"token":"leaky"');
    expect(() => createFileTokens(path, createCollectingLog())).toThrow(/is not valid JSON/);
    expect(catchError(() => createFileTokens(path, createCollectingLog())).message).not.toContain('leaky');
  });
});

function catchError(fn: () => unknown): TokensError {
  try {
    fn();
  } catch (error) {
    if (error instanceof TokensError) return error;
  }
  throw new Error('nothing was thrown');
}
