import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { scenariosFor, startKitServer, tryScenario, type KitServer } from '@countersign/conformance';
import { createClient, type Client } from '@countersign/worker-sdk';
import { agents } from '../../../integrations/test/adapters/agents.ts';
import { buildGo, describeWithGo, mailsIn, runGo, testGo, type GoProgram } from '../../go-examples.ts';
import { eventually } from '../harness/wait.js';
import { startTamperingProxy } from './tampering-proxy.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const cli = join(root, 'apps', 'cli', 'bin', 'countersign.js');
const folder = mkdtempSync(join(tmpdir(), 'countersign-go-'));
let server: KitServer;
let approver: Client;

beforeAll(async () => {
  buildGo(folder, 'http', 'conformance');
  server = await startKitServer(cli);
  approver = createClient({ url: server.url, token: server.approverToken });
}, 240_000);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  readonly outbox: string;
  readonly go: (...options: readonly string[]) => GoProgram;
  /** The approval of the call, as soon as it is there. */
  readonly approvalOf: (toolCallId: string) => Promise<{ approvalId: string; proposal: { digest: string } }>;
}

/** A run of the example: a mail to a colleague, and one to the press that needs approval. */
function openRun(url = server.url): Run {
  const runId = randomUUID();
  const outbox = join(folder, `${runId}.txt`);
  const env = { COUNTERSIGN_TOKEN: server.agentToken, COUNTERSIGN_RESOLVER_TOKEN: server.workerToken };
  const mails = ['ada@example.com', 'press@example.org'];
  return {
    outbox,
    go: (...options) =>
      runGo(
        join(folder, 'http'),
        ['-url', url, '-run', runId, '-agent', 'go-agent', '-outbox', outbox, ...options, ...mails],
        env,
      ),
    approvalOf: (toolCallId) =>
      eventually(`the approval of ${toolCallId}`, async () => {
        const { approvals } = await approver.listApprovals({ runId, state: 'pending' });
        return approvals.find((approval) => approval.toolCallId === toolCallId);
      }),
  };
}

describeWithGo(() => {
  it('runs what needs no approval at once, and the rest when a person has approved', async () => {
    const run = openRun();
    const program = run.go();
    const { approvalId, proposal } = await run.approvalOf('call_2');
    await eventually('the first result', () => (program.results().length === 1 ? true : undefined));
    expect(mailsIn(run.outbox)).toEqual(['ada@example.com']);
    await approver.respond(approvalId, { decision: { type: 'approve' }, proposalDigest: proposal.digest });
    const { code, results } = await program.ended;
    expect(code).toBe(0);
    expect(results).toMatchObject([
      { toolCallId: 'call_1', state: 'succeeded' },
      { toolCallId: 'call_2', state: 'succeeded', text: '{"sentTo":"press@example.org"}' },
    ]);
    expect(mailsIn(run.outbox)).toEqual(['ada@example.com', 'press@example.org']);
  });

  it('runs nothing that is denied, and tells the model the reason', async () => {
    const run = openRun();
    const program = run.go();
    const { approvalId } = await run.approvalOf('call_2');
    await approver.respond(approvalId, { decision: { type: 'deny' }, reason: 'not today' });
    const { results } = await program.ended;
    expect(results[1]).toMatchObject({ state: 'denied', text: expect.stringContaining('not today') });
    expect(mailsIn(run.outbox)).toEqual(['ada@example.com']);
  });

  it('runs the edited arguments, and tells the model that they were changed', async () => {
    const run = openRun();
    const program = run.go();
    const { approvalId } = await run.approvalOf('call_2');
    await approver.respond(approvalId, { decision: { type: 'edit', arguments: { to: 'lawyer@example.com' } } });
    const { results } = await program.ended;
    expect(results[1]).toMatchObject({ state: 'succeeded', text: expect.stringContaining('changed the arguments') });
    expect(mailsIn(run.outbox)).toContain('lawyer@example.com');
  });

  it('reports unknown after a kill inside the tool, and does not run it again', async () => {
    const run = openRun();
    const first = run.go('-takes', '1h', '-lease', '1s');
    await eventually('the mail', () => (mailsIn(run.outbox).length === 1 ? true : undefined));
    await first.kill();
    const second = run.go('-lease', '1s');
    const { approvalId } = await run.approvalOf('call_2');
    await approver.respond(approvalId, { decision: { type: 'approve' } });
    const { results } = await second.ended;
    expect(results).toMatchObject([
      { toolCallId: 'call_1', state: 'unknown', text: expect.stringContaining('not known') },
      { toolCallId: 'call_2', state: 'succeeded' },
    ]);
    expect(mailsIn(run.outbox)).toEqual(['ada@example.com', 'press@example.org']);
  });

  it('keeps its claim while the tool runs for longer than the lease', async () => {
    const run = openRun();
    const first = run.go('-takes', '1500ms', '-lease', '600ms');
    await eventually('the mail', () => (mailsIn(run.outbox).length === 1 ? true : undefined));
    const second = run.go();
    const { approvalId } = await run.approvalOf('call_2');
    await approver.respond(approvalId, { decision: { type: 'deny' }, reason: 'no' });
    for (const { ended } of [first, second]) {
      expect((await ended).results).toMatchObject([{ state: 'succeeded' }, { state: 'denied' }]);
    }
  });

  it('runs nothing when the arguments of the claim are not those of the digest', async () => {
    const proxy = await startTamperingProxy(server.url);
    try {
      const run = openRun(proxy.url);
      const program = run.go();
      const { approvalId } = await run.approvalOf('call_2');
      await approver.respond(approvalId, { decision: { type: 'approve' } });
      const { results } = await program.ended;
      const refused = { state: 'failed', text: expect.stringContaining('not those of the approved digest') };
      expect(results).toMatchObject([refused, refused]);
      expect(mailsIn(run.outbox)).toEqual([]);
    } finally {
      await proxy.close();
    }
  });

  describe('its settings', () => {
    const start = (env: Readonly<Record<string, string>>, ...options: readonly string[]) => {
      const run = randomUUID();
      const args = [
        '-url',
        server.url,
        '-run',
        run,
        '-outbox',
        join(folder, `${run}.txt`),
        ...options,
        'ada@example.com',
      ];
      return runGo(join(folder, 'http'), args, env).ended;
    };
    const tokensIn = (name: string, tokens: Readonly<Record<string, string>>): string => {
      const data = join(folder, name);
      mkdirSync(data);
      const entries = Object.entries(tokens).map(([principal, token]) => ({ principal, token }));
      writeFileSync(join(data, 'tokens.json'), JSON.stringify(entries));
      return data;
    };

    it('reads the tokens in COUNTERSIGN_DATA', async () => {
      const data = tokensIn('own-data', { agent: server.agentToken, worker: server.workerToken });
      expect(await start({ COUNTERSIGN_DATA: data })).toMatchObject({ code: 0, results: [{ state: 'succeeded' }] });
    });

    it('reads a tokens file only for the variable that is not set', async () => {
      const data = tokensIn('half-data', { agent: 'wrong', worker: server.workerToken });
      const given = { COUNTERSIGN_TOKEN: server.agentToken };
      const ended = await start(given, '-tokens', join(data, 'tokens.json'));
      expect(ended).toMatchObject({ code: 0, results: [{ state: 'succeeded' }] });
    });

    it.each([
      [
        'a missing file',
        {},
        ['-tokens', '/nowhere/tokens.json'],
        /COUNTERSIGN_TOKEN is not set.*\/nowhere\/tokens\.json/,
      ],
      [
        'a missing data folder',
        { COUNTERSIGN_DATA: '/nowhere' },
        [],
        /\/nowhere\/tokens\.json.*Set COUNTERSIGN_TOKEN, /,
      ],
      ['an address without http://', {}, ['-url', '127.0.0.1:7400'], /-url.*must begin with http:\/\/ or https:\/\//],
      [
        'an unusable token',
        { COUNTERSIGN_TOKEN: 'secret\nx' },
        [],
        /^COUNTERSIGN_TOKEN is empty, or has .*Copy it again/,
      ],
      [
        'an unusable token of the worker',
        { COUNTERSIGN_TOKEN: 'usable', COUNTERSIGN_RESOLVER_TOKEN: 'sécret' },
        [],
        /^COUNTERSIGN_RESOLVER_TOKEN is empty, or has .*Copy it again/,
      ],
    ])('ends at once with the remedy for %s', async (_, env, options, words) => {
      const { code, log } = await start(env, ...options);
      expect(code).toBe(1);
      expect(log).toMatch(words);
      expect(log).not.toContain('cret');
    });

    it('names the file whose token no request can have', async () => {
      const data = tokensIn('broken-data', { agent: 'secret\n' });
      const { log } = await start({ COUNTERSIGN_DATA: data });
      expect(log).toContain(`the token of "agent" in ${join(data, 'tokens.json')} is empty, or has`);
      expect(log).not.toContain('cret');
    });

    it('names the variable of the resolver when both tokens are those of the agent', async () => {
      const { log } = await start({
        COUNTERSIGN_TOKEN: server.agentToken,
        COUNTERSIGN_RESOLVER_TOKEN: server.agentToken,
      });
      expect(log).toMatch(/forbidden.*COUNTERSIGN_RESOLVER_TOKEN to one of role resolver/);
    });
  });

  it('passes the tests of its package', () => {
    testGo('countersign');
  });

  describe('the agent of the conformance kit', () => {
    const agent = { command: join(folder, 'conformance'), args: [], capabilities: agents['own loop'] };
    it.each(scenariosFor(agent))('$name', (scenario) => tryScenario(scenario, agent, server));
  });
});
