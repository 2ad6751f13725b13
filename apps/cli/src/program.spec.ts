import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from './program.js';
import { knownToken, problem, startContractServer } from './testing/contract-server.js';
import type { ContractServer } from './testing/contract-server.js';
import type { FakeTerminal, FakeTerminalOptions } from './testing/fake-terminal.js';
import { createFakeTerminal, until } from './testing/fake-terminal.js';
import { approvalOf, callOf, eventOf } from './testing/fixtures.js';

let server: ContractServer;
/** Stopped after each test, also after a failed one. */
const terminals: FakeTerminal[] = [];
beforeEach(async () => {
  server = await startContractServer();
});
afterEach(async () => {
  for (const terminal of terminals.splice(0)) terminal.interrupt();
  await server.close();
});

const pending = approvalOf();
const { approvalId, callId } = pending;

function newTerminal(options: FakeTerminalOptions): FakeTerminal {
  const terminal = createFakeTerminal(options);
  terminals.push(terminal);
  return terminal;
}

/** Runs a command against the contract server as its known person. */
async function run(args: readonly string[], options: FakeTerminalOptions = {}) {
  const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken, ...options.env };
  const terminal = newTerminal({ ...options, env });
  const code = await runCli(args, terminal);
  return { code, out: terminal.out(), err: terminal.err() };
}

const posted = () =>
  server.requests
    .filter(({ method }) => method === 'POST')
    .map(({ path, body }) => [path, JSON.parse(body) as unknown]);
const given = (...approvals: readonly (typeof pending)[]) => {
  for (const approval of approvals) server.approvals.set(approval.approvalId, approval);
};

/** The names in the list of commands of a help. */
const commandsIn = (help: string): readonly string[] =>
  [...(/\nCommands:\n((?: .*\n)+)/.exec(help)?.[1] ?? '').matchAll(/^ {2}([a-z-]+) /gm)].map(([, name = '']) => name);

describe('help', () => {
  it('explains the whole, with the exit codes', async () => {
    const { code, out, err } = await run(['--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('Exit codes:');
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('names no command that docs/cli.md leaves out', async () => {
    const documented = readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8');
    const { out } = await run(['--help']);
    const commands = [...out.slice(out.indexOf('Commands:'), out.indexOf('Exit codes:')).matchAll(/^ {2}([a-z-]+) /gm)];
    expect(commands.length).toBeGreaterThan(15);
    expect(commands.map(([, name = '']) => name).filter((name) => !documented.includes(`| \`${name}`))).toEqual([]);
  });

  it('explains every command with an example, its exit codes and --json, in 80 columns', async () => {
    const faults: string[] = [];
    const explain = async (path: readonly string[]): Promise<number> => {
      const { out } = await run([...path, '--help']);
      const children = commandsIn(out);
      const name = path.join(' ');
      if (children.length === 0 && !new RegExp(`Examples?:\\n(.*\\n)*  .*countersign ${name}`).test(out))
        faults.push(`${name}: no example`);
      if (!/exit codes/i.test(out)) faults.push(`${name}: no exit codes`);
      if (!out.includes('--json')) faults.push(`${name}: no --json`);
      for (const line of out.split('\n')) if (line.length > 80) faults.push(`${name}: ${line}`);
      let explained = 1;
      for (const child of children) explained += await explain([...path, child]);
      return explained;
    };
    expect(await explain([])).toBeGreaterThan(50);
    expect(faults).toEqual([]);
  });

  it('without a command goes to stderr', async () => {
    const { code, out, err } = await run([]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain('Usage: countersign');
  });

  it('tells the version', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

describe('a command line that cannot be understood', () => {
  it.each([
    [['aprove', 'x']],
    [['approve']],
    [['approve', 'x', 'y']],
    [['list', '--state', 'open']],
    [['list', '--limit', '0']],
    [['tail', '--after', 'yesterday']],
    [['answer', 'x']],
    [['answer', 'x', '--output', '1', '--text', 'a']],
    [['answer', 'x', '--output', 'not json']],
    [['answer', 'x', '--output', '@/no/such/file']],
    [['cancel']],
    [['cancel', 'tc_1', '--run', 'r']],
    [['reconcile', 'tc_1', '--note', 'x']],
    [['start', 'everything']],
    [['list', '--url', 'nonsense']],
  ])('%j ends with 2 and changes nothing', async (args) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(/^countersign: /);
    expect(server.requests).toEqual([]);
  });

  it('is a problem document for programs', async () => {
    const { err } = await run(['list', '--state', 'open', '--json']);
    expect(JSON.parse(err)).toMatchObject({ code: 'usage', status: 0, detail: expect.stringContaining('--state') });
  });
});

describe('answering', () => {
  it.each([
    [['approve', approvalId], { decision: { type: 'approve' } }],
    [
      ['approve', approvalId, '--reason', 'seen "it"', '--instruction', 'verify', '--digest', pending.shownDigest],
      { decision: { type: 'approve' }, reason: 'seen "it"', instruction: 'verify', shownDigest: pending.shownDigest },
    ],
    [['deny', approvalId, '--reason', 'no'], { decision: { type: 'deny' }, reason: 'no' }],
    [['answer', approvalId, '--output', '{"rows":3}'], { decision: { type: 'answer', output: { rows: 3 } } }],
    [['answer', approvalId, '--text', 'by hand'], { decision: { type: 'answer', output: 'by hand' } }],
    [
      ['edit', approvalId, '--arguments', '{"path":"/tmp/x"}'],
      {
        decision: { type: 'edit', arguments: { path: '/tmp/x' } },
        shownRevision: pending.shownRevision,
      },
    ],
  ])('%j', async (args, body) => {
    given(pending);
    const { code, out } = await run([...args, '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual(server.approvals.get(approvalId));
    expect(posted()).toEqual([[`/v1/approvals/${approvalId}/responses`, body]]);
  });

  it('tells people what came of it', async () => {
    given(pending);
    const { out } = await run(['approve', approvalId]);
    expect(out).toContain('Approved: delete_file. The approval is approved.\n');
  });

  it('takes JSON from stdin and from a file', async () => {
    given(pending, approvalOf({ approvalId: 'apr_2' }));
    await run(['answer', approvalId, '--output', '-'], { input: '[1]' });
    const file = join(mkdtempSync(join(tmpdir(), 'countersign-test-')), 'arguments.json');
    writeFileSync(file, '{"path":"/b"}');
    await run(['edit', 'apr_2', '--arguments', `@${file}`]);
    expect(posted().map(([, body]) => body)).toMatchObject([
      { decision: { output: [1] } },
      { decision: { arguments: { path: '/b' } } },
    ]);
  });

  it('sends a number with every digit that was typed, so that the server can refuse it', async () => {
    given(pending);
    await run(['edit', approvalId, '--arguments', '{"amount":12345678901234567890}']);
    expect(server.requests.at(-1)?.body).toContain('12345678901234567890');
  });

  it('shows the change of an edit', async () => {
    given(pending);
    const { out } = await run(['edit', approvalId, '--arguments', '{"path":"/tmp/x"}']);
    expect(out).toContain('-   "path": "/etc/hosts"\n+   "path": "/tmp/x"\n');
  });

  it('shows with the change of an edit all that runs: the arguments that stay, the place and what the agent is told', async () => {
    const items = Array.from({ length: 30 }, (_, n) => `item ${String(n)}`);
    const instructions = [{ ...{ respondedBy: 'ann', instruction: 'then verify' }, at: '2026-01-01T00:00:00.000Z' }];
    given({
      ...{ ...pending, arguments: { items, danger: 'rm -rf /' }, labels: { cwd: '/srv/production' } },
      instructions,
    });
    const edited = JSON.stringify({ items: items.with(2, 'other'), danger: 'rm -rf /' });
    const { out } = await run(['edit', approvalId, '--arguments', edited]);
    for (const words of ['cwd: /srv/production', '"danger": "rm -rf /"', '"item 29"', 'ann: then verify', '"other"'])
      expect(out).toContain(words);
    const digested = await run(['edit', approvalId, '--arguments', edited, '--digest', pending.shownDigest]);
    expect(digested.out).not.toContain('danger');
  });

  it.each([
    ['{"path":"/etc/hosts"}', 5],
    ['[1]', 2],
  ])('sends no edit that is %s', async (text, code) => {
    given(pending);
    expect((await run(['edit', approvalId, '--arguments', text])).code).toBe(code);
    expect(posted()).toEqual([]);
  });

  it('asks for --arguments where no editor can be shown', async () => {
    given(pending);
    expect(await run(['edit', approvalId])).toMatchObject({ code: 2, err: expect.stringContaining('--arguments') });
  });

  it('edits in $EDITOR, and asks before it sends', async () => {
    given(pending);
    const editor = `sh -c 'echo "{\\"path\\":\\"/tmp/y\\"}" > "$0"'`;
    for (const [reply, count] of [
      ['n', 0],
      ['y', 1],
    ] as const) {
      const terminal = createFakeTerminal({
        isTty: true,
        env: {
          COUNTERSIGN_URL: server.url,
          COUNTERSIGN_TOKEN: knownToken,
          EDITOR: editor,
          PATH: process.env['PATH'] ?? '',
          NO_COLOR: '1',
        },
      });
      const ended = runCli(['edit', approvalId], terminal);
      await until(() => terminal.out().includes('[y/N]'), terminal.out);
      terminal.type(`${reply}\n`);
      expect(await ended).toBe(0);
      expect(posted()).toHaveLength(count);
    }
  });

  it.each([
    ['n', 0],
    ['y', 1],
  ] as const)('an approval on a terminal shows the call first, and is bound to it: %s', async (reply, count) => {
    given({ ...pending, arguments: { path: '/srv/other' } });
    const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken };
    const terminal = newTerminal({ isTty: true, env });
    const ended = runCli(['approve', approvalId], terminal);
    await until(() => terminal.out().includes('[y/N]'), terminal.out);
    expect(terminal.out()).toContain('/srv/other');
    expect(posted()).toEqual([]);
    terminal.type(`${reply}\n`);
    expect(await ended).toBe(0);
    const body = { decision: { type: 'approve' }, proposalDigest: pending.proposal.digest };
    expect(posted().map(([, sent]) => sent)).toEqual(
      Array.from({ length: count }, () => ({ ...body, shownDigest: pending.shownDigest })),
    );
  });

  it.each([
    ['y', 0],
    ['delete_file', 1],
  ])('an approval of high risk on a terminal needs the name of the tool: %s', async (reply, count) => {
    given({ ...pending, risk: 'high' });
    const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken };
    const terminal = newTerminal({ isTty: true, env });
    const ended = runCli(['approve', approvalId], terminal);
    await until(() => terminal.out().includes('To confirm, type delete_file:'), terminal.out);
    terminal.type(`${reply}\n`);
    expect(await ended).toBe(0);
    expect(posted()).toHaveLength(count);
  });

  it.each([['--yes'], ['--digest', pending.shownDigest]])(
    'an approval on a terminal asks nothing with %s',
    async (...options) => {
      given(pending);
      expect((await run(['approve', approvalId, ...options], { isTty: true })).code).toBe(0);
      expect(posted()).toHaveLength(1);
    },
  );

  it.each([
    [[], { isTty: false }],
    [['--yes'], { isTty: true }],
  ])('an approval with %j shows the call without a question, and is bound to it', async (options, terminal) => {
    given({ ...pending, arguments: { path: '/srv/\u202eother' } });
    const { code, out } = await run(['approve', approvalId, ...options], terminal);
    expect(code).toBe(0);
    expect(out).toContain('/srv/⟦U+202E⟧other');
    expect(out).not.toContain('[y/N]');
    const { digest: proposalDigest } = pending.proposal;
    const body = { decision: { type: 'approve' }, proposalDigest, shownDigest: pending.shownDigest };
    expect(posted().map(([, sent]) => sent)).toEqual([body]);
  });

  it('an approval by a digest or for a program shows nothing, and is bound to that digest alone', async () => {
    given(pending);
    const { out } = await run(['approve', approvalId, '--digest', pending.shownDigest]);
    expect(out).toBe('Approved: delete_file. The approval is approved.\n');
    await run(['approve', approvalId, '--json']);
    expect(posted().map(([, sent]) => sent)).toEqual([
      { decision: { type: 'approve' }, shownDigest: pending.shownDigest },
      { decision: { type: 'approve' } },
    ]);
  });

  it('an edit for a program claims nothing that it did not show, and one by a digest is bound to that digest', async () => {
    given(pending);
    const edit = ['edit', approvalId, '--arguments', '{"path":"/tmp/x"}'];
    await run([...edit, '--json']);
    await run([...edit, '--digest', pending.shownDigest]);
    const { shownRevision, shownDigest } = pending;
    const decision = { type: 'edit', arguments: { path: '/tmp/x' } };
    expect(posted().map(([, sent]) => sent)).toEqual([
      { decision, shownRevision },
      { decision, shownDigest },
    ]);
  });

  it('tells a person who gives the digest of the arguments which digest is meant', async () => {
    given(pending);
    const { actionDigest } = pending;
    server.intercept = ({ method }) =>
      method === 'GET'
        ? undefined
        : { status: 409, body: { code: 'digest-mismatch', status: 409, detail: 'x', actionDigest } };
    const { code, err } = await run(['approve', approvalId, '--digest', actionDigest]);
    expect(code).toBe(5);
    expect(err.replaceAll('\n', ' ')).toContain('--digest is the shownDigest of the approval');
  });

  it('the second time says kindly who was first', async () => {
    const respondedAt = new Date(Date.now() - 3000).toISOString();
    const response = {
      number: 1,
      respondedBy: 'bob',
      onBehalfOf: null,
      decision: { type: 'deny' },
      reason: null,
      respondedAt,
      via: 'slack',
      counted: true,
    } as const;
    given(approvalOf({ state: 'denied', responses: [response] }));
    const people = await run(['approve', approvalId]);
    expect(people).toMatchObject({ code: 5, out: '' });
    expect(people.err).toContain('bob denied this 3 s ago via slack. Nothing is left to answer.');
    const programs = await run(['approve', approvalId, '--json']);
    expect(programs).toMatchObject({ code: 5, out: '' });
    expect(JSON.parse(programs.err)).toMatchObject({
      code: 'already-resolved',
      respondedBy: 'bob',
      via: 'slack',
      status: 409,
    });
  });

  it('an unknown approval ends with 6, a bad token with 4', async () => {
    expect((await run(['approve', 'apr_nothing'])).code).toBe(6);
    expect(await run(['approve', 'apr_1', '--token', 'wrong'])).toMatchObject({
      code: 4,
      err: expect.stringContaining('The token from --token'),
    });
    expect(
      await run(['approve', 'apr_1'], { env: { COUNTERSIGN_TOKEN: '', COUNTERSIGN_DATA: '/nowhere' } }),
    ).toMatchObject({
      code: 4,
      err: expect.stringContaining('Set COUNTERSIGN_TOKEN'),
    });
  });

  it('an id with slashes is still one id', async () => {
    await run(['approve', '../../v1/x?y']);
    expect(server.requests[0]?.path).toBe('/v1/approvals/..%2F..%2Fv1%2Fx%3Fy');
  });
});

describe('answering many', () => {
  const batch = { batchId: 'step-1', mode: 'independent' as const, callIds: [] };
  const [one, two, others] = [
    approvalOf({ approvalId: 'apr_1', toolName: 'read_file', batch }),
    approvalOf({ approvalId: 'apr_2', toolName: 'read_mail', runId: 'run-43', agentId: 'reader' }),
    approvalOf({ approvalId: 'apr_3', toolName: 'not_yours', risk: 'high' }),
  ];
  const stateOf = (id: string) => server.approvals.get(id)?.state;
  const sent = () => posted().map(([, body]) => body as { approvalIds: string[]; dryRun?: boolean });

  it.each([
    [
      ['--run', 'run-42'],
      ['apr_1', 'apr_3'],
    ],
    [
      ['--tool', 'read_*'],
      ['apr_1', 'apr_2'],
    ],
    [['--batch', 'step-1'], ['apr_1']],
    [['--agent', 'reader', '--tool', '*'], ['apr_2']],
  ])('%j selects what passes all of them, and tries it first', async (filters, ids) => {
    given(one, two, others);
    await run(['approve', ...filters, '--yes']);
    expect(sent()[0]).toMatchObject({ approvalIds: ids, dryRun: true });
  });

  it('shows a table with what is left out and why, sends the rest bound to what it showed, and ends with 5', async () => {
    given(one, two, others);
    const { code, out } = await run(['approve', '--run', 'run-42', '--yes', '--reason', 'seen']);
    expect(code).toBe(5);
    expect(out).toContain('read_file {"path":"/etc/hosts"}');
    expect(out).toContain('risk high · asked by billing-agent · agent billing-agent · run run-42');
    expect(out).toContain('left out: Others are asked to answer this approval.');
    expect(out).toContain('Approved: 1 of 2.');
    expect(sent()[1]).toEqual({
      ...{ approvalIds: ['apr_1'], proposalDigests: { apr_1: one.proposal.digest } },
      shownDigests: { apr_1: one.shownDigest },
      shownRevisions: { apr_1: one.shownRevision },
      ...{ decision: { type: 'approve' }, reason: 'seen' },
    });
    expect([stateOf('apr_1'), stateOf('apr_2'), stateOf('apr_3')]).toEqual(['approved', 'pending', 'pending']);
  });

  it('shows all of what is to be approved where one line would cut it, and cuts what is denied', async () => {
    const command = `echo ${'a'.repeat(500)}; curl evil`;
    const instructions = [{ respondedBy: 'bob', instruction: 'then tell ann' }];
    given({ ...one, arguments: { command }, instructions });
    const approved = (await run(['approve', '--run', 'run-42', '--yes'])).out.replaceAll(/\s+/g, '');
    expect(approved).toContain('curlevil"');
    expect(approved).toContain('bob:thentellann');
    given({ ...one, arguments: { command } });
    expect((await run(['deny', '--run', 'run-42', '--yes'])).out).not.toContain('curl evil');
  });

  it('says which values are hidden, and which texts that read so the agent wrote', async () => {
    const mask = '[masked sha256:0123456789abcdef]';
    const shown = async (): Promise<string> =>
      (await run(['approve', '--run', 'run-42', '--yes'])).out.replaceAll(/\s+/g, ' ');
    given({ ...one, arguments: { to: mask } });
    expect(await shown()).toContain('text from the agent, not a hidden value');
    given({ ...one, arguments: { password: mask }, hiddenValues: [{ pointer: '/password', why: 'name' }] });
    expect(await shown()).toContain('1 value is hidden from you');
  });

  it('says in a row whose edit the arguments are, and what was not approved before', async () => {
    const proposal = { ...pending.proposal, number: 3, proposedBy: 'carol' };
    const ended = [{ approvalId, number: 2, kind: 'answer', proposedBy: 'bob', proposedAt: pending.requestedAt }];
    given({ ...pending, proposal, endedProposals: ended as never });
    const { out } = await run(['approve', '--run', 'run-42', '--yes']);
    expect(out).toContain('  Edited by carol\n  Not approved before: answer by bob\n');
  });

  it('shows the folder of each call, and the whole name of a tool', async () => {
    const toolName = `t_${'x'.repeat(200)}_delete`;
    given({ ...one, toolName, labels: { cwd: '/srv/production' } });
    const { out } = await run(['approve', '--run', 'run-42', '--yes']);
    expect(out).toContain('labels: cwd: /srv/production');
    expect(out.replaceAll(/[\s↩]+/g, '')).toContain(toolName);
  });

  it('prints a result for each with --json, and ends with 0 when all are answered', async () => {
    given(one, two);
    const { code, out } = await run(['deny', '--tool', 'read_*', '--yes', '--json']);
    expect(code).toBe(0);
    expect(out).toBe('{"approvalId":"apr_1","status":"done"}\n{"approvalId":"apr_2","status":"done"}\n');
  });

  it('shows nothing with --json, and its responses say so', async () => {
    given(one, two);
    await run(['approve', '--run', 'run-42', '--yes', '--json']);
    const sent = posted().map(([, body]) => body as Record<string, unknown>);
    expect(sent).toHaveLength(2);
    for (const body of sent) {
      expect(body).not.toHaveProperty('proposalDigests');
      expect(body).not.toHaveProperty('shownDigests');
    }
  });

  it('says how many of them still wait for more people', async () => {
    given(one);
    server.intercept = ({ path, body }) => {
      if (path !== '/v1/approvals/responses' || body.includes('dryRun')) return undefined;
      return { status: 200, body: { results: [{ approvalId: 'apr_1', status: 'done', approval: one }] } };
    };
    const { code, out } = await run(['approve', '--batch', 'step-1', '--yes']);
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 of 1. More people must answer: 1.'),
    });
  });

  it('asks on a terminal, and sends nothing without a yes', async () => {
    for (const [reply, state] of [
      ['n', 'pending'],
      ['y', 'approved'],
    ] as const) {
      given(one);
      const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken };
      const terminal = newTerminal({ isTty: true, env });
      const ended = runCli(['approve', '--batch', 'step-1'], terminal);
      await until(() => terminal.out().includes('Approve 1 of 1? [y/N]'), terminal.out);
      terminal.type(`${reply}\n`);
      expect(await ended).toBe(0);
      expect(stateOf('apr_1')).toBe(state);
    }
  });

  it('many with one of high risk need their number in place of a yes', async () => {
    given({ ...one, risk: 'high' });
    const env = { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken };
    const terminal = newTerminal({ isTty: true, env });
    const ended = runCli(['approve', '--batch', 'step-1'], terminal);
    await until(() => terminal.out().includes('Approve 1 of 1? To confirm, type 1:'), terminal.out);
    terminal.type('y\n');
    expect(await ended).toBe(0);
    expect(stateOf('apr_1')).toBe('pending');
  });

  it.each([
    [['approve', '--run', 'run-42'], 'needs --yes'],
    [['approve', '--run', 'run-42', '--json'], 'needs --yes'],
    [['approve'], 'Name an approval, or a filter'],
    [['approve', 'apr_1', '--run', 'run-42'], 'either an approval or a filter'],
    [['approve', '--run', 'run-42', '--yes', '--digest', one.actionDigest], '--digest is for one approval'],
  ])('%j is refused: %s', async (args, words) => {
    given(one);
    const { code, err } = await run(args);
    expect(code).toBe(2);
    expect(err.replaceAll('\n', ' ')).toContain(words);
    expect(posted()).toEqual([]);
  });

  it('refuses a batch whose name two runs use: another agent may have chosen the same name', async () => {
    given(one, approvalOf({ approvalId: 'apr_9', runId: 'run-of-others', batch }));
    const { code, err } = await run(['approve', '--batch', 'step-1', '--yes']);
    expect({ code, err }).toMatchObject({ code: 5, err: expect.stringContaining('2 runs or requesters') });
    expect(posted()).toEqual([]);
    expect((await run(['approve', '--batch', 'step-1', '--run', 'run-42', '--yes'])).code).toBe(0);
  });

  it('refuses more than a person looks at, and says when nothing matches', async () => {
    expect(await run(['approve', '--run', 'nothing', '--yes'])).toMatchObject({
      ...{ code: 0, out: 'Nothing that is pending matches.\n' },
    });
    given(...Array.from({ length: 257 }, (_, index) => approvalOf({ approvalId: `apr_${String(index)}` })));
    expect(await run(['approve', '--run', 'run-42', '--yes'])).toMatchObject({
      ...{ code: 5, err: expect.stringContaining('More than 256 approvals match.') },
    });
    expect(posted()).toEqual([]);
  });
});

describe('looking', () => {
  const many = Array.from({ length: 1201 }, (_, index) => approvalOf({ approvalId: `apr_${String(index)}` }));

  it('list shows every page, or as many as asked for', async () => {
    given(...many);
    expect((await run(['list', '--json'])).out.trimEnd().split('\n')).toHaveLength(1201);
    const some = await run(['list', '--limit', '2']);
    expect(some.out).toContain('apr_1  waits');
    expect(some.out).not.toContain('apr_2 ');
    expect(some.err).toContain('There are more');
  });

  it('list asks for the order of the inbox, and says the risk before what a narrow terminal cuts', async () => {
    given(approvalOf({ approvalId: `apr_${'a'.repeat(26)}_1`, risk: 'high' }));
    const { out } = await run(['list']);
    expect(out.split('\n')[0]).toMatch(/^apr_a{26}_1 {2}high risk, waits/);
    await run(['list', '--state', 'denied']);
    await run(['list', '--sort', 'expiresAt']);
    const sorts = server.requests.map(({ path }) => new URL(path, server.url).searchParams.get('sort'));
    expect(sorts).toEqual(['risk', null, 'expiresAt']);
  });

  it('list puts the calls of a step together, under a heading, unless an order is asked for', async () => {
    const batch = { batchId: 'step-1', mode: 'all-or-nothing' as const, callIds: [] };
    given(
      approvalOf({ approvalId: 'apr_a', batch }),
      approvalOf({ approvalId: 'apr_b', batch: { ...batch, batchId: 'step-2' } }),
      approvalOf({ approvalId: 'apr_c', batch }),
    );
    const { out } = await run(['list']);
    const heading = '2 of one step of run run-42, all or nothing';
    expect(out.match(/^(apr_.|\d.*)/gm)).toEqual([heading, 'apr_a', 'apr_c', 'apr_b']);
    const sorted = await run(['list', '--sort', 'expiresAt']);
    expect(sorted.out.match(/apr_.|of one step/g)).toEqual(['apr_a', 'apr_b', 'apr_c']);
  });

  it('list says in 80 columns which approvals are for others', async () => {
    const mayDecide = { now: false, why: 'not-an-approver', detail: 'Others are asked.' } as const;
    const approvalId = 'apr_o4am363g4hjlaxy25m2g7bvite_1';
    given(approvalOf({ approvalId, mayDecide, risk: 'medium' }), approvalOf({ approvalId: 'apr_2' }));
    const { out } = await run(['list']);
    expect(out.match(/^ {2}.*agent .*$/gm)).toEqual([
      '  others are asked; agent billing-agent, run run-42',
      '  agent billing-agent, run run-42',
    ]);
  });

  it('list says when there is nothing', async () => {
    expect(await run(['list', '--state', 'denied'])).toMatchObject({ code: 0, out: 'Nothing is denied.\n' });
    expect(await run(['list', '--json'])).toMatchObject({ code: 0, out: '', err: '' });
  });

  it('no command lets a hostile server move the terminal', async () => {
    const evil = '\u001b[2J\u202e\u200b\u009b';
    const hostile = approvalOf({
      toolName: evil,
      agentId: evil,
      runId: evil,
      description: evil,
      state: evil as never,
      risk: evil as never,
      expiresAt: evil,
      requestedAt: evil,
      allowedDecisions: [evil as never],
      arguments: { [evil]: `${evil}\n${evil}` },
    });
    given(hostile);
    const state = evil as never;
    server.calls.set(
      callId,
      callOf(hostile, { state, instruction: evil, output: evil, originalArguments: { a: evil } }),
    );
    server.events.push({ ...eventOf(hostile, evil, 1, { x: evil }), recordedAt: evil });
    server.intercept = ({ path }) =>
      path.startsWith('/v1/approvals?')
        ? { status: 200, body: { approvals: [hostile], nextCursor: null, position: 1 } }
        : undefined;
    for (const args of [
      ['list'],
      ['show', callId],
      ['tail', '--after', '0', '--limit', '1'],
      ['edit', approvalId, '--arguments', '{}'],
      ['list', '--json'],
    ]) {
      const { out, err } = await run(args);
      for (const character of evil)
        if (character !== '[' && character !== '2' && character !== 'J') expect(out + err).not.toContain(character);
      expect(out).not.toBe('');
    }
  });

  it('show tells the story of a call, also by the id of its approval', async () => {
    given(pending);
    server.calls.set(callId, callOf(pending));
    server.events.push(
      eventOf(pending, 'ToolCallRequested', 1, { agentId: 'billing-agent', toolName: 'delete_file' }),
      eventOf(pending, 'ApprovalRequested', 2),
    );
    const { code, out } = await run(['show', approvalId]);
    expect(code).toBe(0);
    expect(out).toContain('delete_file   awaiting_approval');
    expect(out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC {2}ToolCallRequested$/m);
    expect(out.trimEnd().endsWith('description │ Delete /etc/hosts')).toBe(true);
    expect(JSON.parse((await run(['show', callId, '--json'])).out)).toMatchObject({
      call: { callId },
      events: [{ position: 1 }, { position: 2 }],
    });
  });

  it.each(['an auditor', 'no auditor'])('show names a message that could not be delivered, to %s', async (who) => {
    server.calls.set(callId, { ...callOf(pending), revision: 2 });
    const failed = { channelId: 'ops-slack', kind: 'requested', recipient: null, attempt: 1, nextAttemptAt: null };
    server.events.push(
      eventOf(pending, 'ToolCallRequested', 1),
      eventOf(pending, 'ApprovalRequested', 2),
      {
        ...eventOf(pending, 'NotificationFailed', 3, { ...failed, reason: 'Slack answers msg_too_long' }),
        revision: 2,
      },
      { ...eventOf(pending, 'ApprovalDescribed', 4), revision: 2 },
    );
    if (who === 'no auditor') {
      server.intercept = ({ path }) =>
        path.startsWith('/v1/audit') ? problem(403, 'forbidden', 'for auditors') : undefined;
    }
    const { code, out } = await run(['show', callId, '--json']);
    expect(code).toBe(0);
    const { events } = JSON.parse(out) as { readonly events: readonly { readonly position: number }[] };
    expect(events.map(({ position }) => position)).toEqual([1, 2, 3, 4]);
    expect((await run(['show', callId])).out.replace(/\s+/g, ' ')).toContain(
      'requested to ops-slack could not be delivered: Slack answers msg_too_long',
    );
  });

  it("show reads the stream of events when the token is no auditor's", async () => {
    server.calls.set(callId, callOf(pending, { state: 'succeeded', approval: null, output: { done: true } }));
    server.events.push(eventOf(pending, 'ToolCallRequested', 1), eventOf(pending, 'ApprovalRequested', 2));
    server.intercept = ({ path }) =>
      path.startsWith('/v1/audit') ? problem(403, 'forbidden', 'for auditors') : undefined;
    const { code, out } = await run(['show', callId]);
    expect(code).toBe(0);
    expect(out).toContain('people are asked');
    expect(out).toContain('"done": true');
  });

  it('show of nothing ends with 6', async () => {
    expect((await run(['show', 'tc_nothing', '--json'])).code).toBe(6);
  });

  it('run shows the calls of a run', async () => {
    const view = {
      runId: 'run-42',
      stopReason: 'awaiting_approval',
      hasPendingApprovals: true,
      pendingApprovals: [pending],
      calls: [callOf(pending)],
    };
    server.intercept = ({ path }) => (path === '/v1/runs/run-42' ? { status: 200, body: view } : undefined);
    expect((await run(['run', 'run-42'])).out).toContain(
      'run run-42   waits for 1 approval\nawaiting_approval delete_file {"path":"/etc/hosts"}\n',
    );
    expect(JSON.parse((await run(['run', 'run-42', '--json'])).out)).toEqual(view);
  });

  it('tail shows events until Ctrl-C', async () => {
    server.events.push(eventOf(pending, 'ToolCallRequested', 1), eventOf(pending, 'ApprovalRequested', 2));
    const terminal = newTerminal({ env: { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken } });
    const ended = runCli(
      ['tail', '--after', '1', '--call', callId, '--types', 'ApprovalRequested,ApprovalExpired'],
      terminal,
    );
    await until(() => terminal.out().includes('ApprovalRequested'));
    server.dropStreams();
    server.record(eventOf(pending, 'ToolCallRequested', 3));
    server.record(eventOf(pending, 'ApprovalExpired', 4));
    await until(() => terminal.out().includes('ApprovalExpired'));
    terminal.interrupt();
    expect(await ended).toBe(130);
    expect(terminal.out()).not.toContain('ToolCallRequested');
    expect(terminal.out()).toContain(
      '09:58:00.000Z  ApprovalExpired  #4\n  expired without an answer\n  run run-42, tc_aaa',
    );
  });

  it('tail is one JSON document per event', async () => {
    server.events.push(eventOf(pending, 'ToolCallRequested', 1), eventOf(pending, 'ApprovalRequested', 2));
    const { code, out } = await run(['tail', '--after', '0', '--limit', '2', '--json']);
    expect(code).toBe(0);
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(server.events);
  });
});

describe('status', () => {
  it('tells how it is', async () => {
    given(pending);
    expect(await run(['status'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(
        /ready {5}yes\n {2}API {7}1\.2\.3\n {2}Node {6}26\.12\.1\n {2}pending {3}1, the oldest for /,
      ),
    });
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({
      url: server.url,
      ready: true,
      notReady: [],
      version: '1.2.3',
      node: { version: '26.12.1', safe: true },
      signedIn: true,
      pending: 1,
      pendingIsExact: true,
      oldestRequestedAt: pending.requestedAt,
    });
  });

  it('names what the server was built from', async () => {
    server.intercept = (request) =>
      request.path === '/healthz'
        ? { status: 200, body: { status: 'ok', version: '0.1.0', commit: 'abc123', node: server.node } }
        : undefined;
    expect(await run(['status'])).toMatchObject({
      out: expect.stringContaining('  version   0.1.0 (commit abc123)\n'),
    });
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({
      build: { version: '0.1.0', commit: 'abc123' },
    });
  });

  it('names the files that cannot be used, though the server is ready', async () => {
    const note = 'changed and cannot be used: tokens';
    server.intercept = (request) =>
      request.path === '/readyz'
        ? { status: 200, body: { status: 'ready', checks: { configuration: { status: 'ok', note } } } }
        : undefined;
    expect(await run(['status'])).toMatchObject({ code: 0, out: expect.stringContaining(`  files     ${note}\n`) });
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ configurationNote: note });
  });

  it('names the stops that are in force, who declared them and why', async () => {
    const note = 'stop_1 stops all calls';
    const stop = {
      ...{ stopId: 'stop_1', scope: { tenant: null, agentId: null, toolName: 'pay*' }, reason: 'it pays twice' },
      ...{
        declaredBy: 'ann',
        declaredAt: '2026-11-29T10:00:00.000Z',
        liftedBy: null,
        liftedAt: null,
        liftReason: null,
      },
    };
    const lifted = { ...stop, stopId: 'stop_2', liftedBy: 'bob', liftedAt: stop.declaredAt, liftReason: 'mended' };
    const ready = { status: 200, body: { status: 'ready', checks: { stops: { status: 'ok', note } } } };
    const told =
      (answer: { status: number; body: unknown }) =>
      ({ path }: { path: string }) =>
        path === '/readyz' ? ready : path === '/v1/stops' ? answer : undefined;
    server.intercept = told({ status: 200, body: { stops: [stop, lifted] } });
    const { code, out } = await run(['status']);
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining('tools pay*') });
    expect(out).toMatch(/stop_1 {3}in force[^]*ann, [^]*: it pays twice/);
    expect(out).not.toContain('stop_2');
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ stops: [stop], stopsNote: note });
    server.intercept = told(problem(403, 'forbidden', 'no'));
    expect((await run(['status'])).out).toContain(`  stopped   ${note}\n`);
  });

  it('says which Node to update to where the server has one with known flaws', async () => {
    server.node = { version: '26.10.0', safe: false, update: '26.12.1' };
    expect(await run(['status'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('  Node      26.10.0: has known security flaws, update to 26.12.1'),
    });
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ node: server.node });
  });

  it('leaves out the Node of a server that does not name it', async () => {
    server.node = undefined;
    expect((await run(['status'])).out).not.toContain('Node');
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ node: null });
  });

  it('ends with 7 when it is not ready, and says why', async () => {
    server.isReady = false;
    expect(await run(['status'])).toMatchObject({
      code: 7,
      out: expect.stringContaining('no: waits for event-store (the disk is full)'),
    });
  });

  it('exits with 4 without a sign-in, with 3 when no server answers, and with 1 on other errors', async () => {
    expect((await run(['status', '--token', 'wrong'])).code).toBe(4);
    expect((await run(['status', '--url', 'http://127.0.0.1:1'])).code).toBe(3);
    server.intercept = () => ({ status: 404, body: 'hello' });
    expect((await run(['status'])).code).toBe(1);
  });

  it('is fine with a token that may not see approvals', async () => {
    server.intercept = ({ path }) => (path.startsWith('/v1/approvals') ? problem(403, 'forbidden', 'no') : undefined);
    expect(JSON.parse((await run(['status', '--json'])).out)).toMatchObject({ signedIn: true, pending: null });
  });
});

describe('making a tokens file', () => {
  it('says what was done, with --json in JSON alone; one that is there is left as it is', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'countersign-test-')), 'tokens.json');
    expect(await run(['tokens', 'create', file, '--json'])).toEqual({
      ...{ code: 0, err: '' },
      out: `${JSON.stringify({ file, created: true })}\n`,
    });
    const made = readFileSync(file, 'utf8');
    expect((await run(['tokens', 'create', file, '--json'])).out).toBe(`${JSON.stringify({ file, created: false })}\n`);
    expect((await run(['tokens', 'create', file])).out).toContain('exists already');
    expect(readFileSync(file, 'utf8')).toBe(made);
  });
});

describe('acting', () => {
  it.each([
    [['cancel', callId, '--reason', 'wrong'], `/v1/tool-calls/${callId}/cancel`, { reason: 'wrong' }],
    [['cancel', '--run', 'a/b'], '/v1/runs/a%2Fb/cancel', { reason: 'cancelled from the command line' }],
    [
      ['reconcile', callId, '--status', 'retry', '--note', 'seen'],
      `/v1/tool-calls/${callId}/reconcile`,
      { status: 'retry', note: 'seen' },
    ],
  ])('%j', async (args, path, body) => {
    server.intercept = ({ method }) => (method === 'POST' ? { status: 200, body: { fine: true } } : undefined);
    expect(await run([...args, '--json'])).toEqual({ code: 0, out: '{"fine":true}\n', err: '' });
    expect(posted()).toEqual([[path, body]]);
    expect((await run(args)).out).not.toBe('');
  });

  it('cancel says of each call of a run that is not cancelled why, and ends with 5', async () => {
    const body = {
      runId: 'r',
      cancelled: ['tc_1'],
      notCancelled: [{ callId: 'tc_2', code: 'batch-begun', detail: 'runs' }],
    };
    server.intercept = ({ method }) => (method === 'POST' ? { status: 200, body } : undefined);
    expect(await run(['cancel', '--run', 'r'])).toMatchObject({
      code: 5,
      out: 'Cancelled in run r: 1.\ntc_2 is not cancelled: runs\n',
    });
    server.intercept = ({ method }) =>
      method === 'POST' ? { status: 200, body: { ...body, cancelled: [], notCancelled: [] } } : undefined;
    expect(await run(['cancel', '--run', 'r'])).toMatchObject({ code: 0, out: 'Run r has no open call.\n' });
  });

  it("withdraw takes one's own answer back", async () => {
    server.intercept = ({ method }) => (method === 'DELETE' ? { status: 200, body: pending } : undefined);
    expect(await run(['withdraw', approvalId])).toMatchObject({ code: 0, out: 'Your response is withdrawn.\n' });
    expect(server.requests[0]?.path).toBe(`/v1/approvals/${approvalId}/responses/mine`);
  });
});
