import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../program.js';
import { knownToken, problem, startContractServer } from '../testing/contract-server.js';
import type { ContractServer } from '../testing/contract-server.js';
import type { FakeTerminal } from '../testing/fake-terminal.js';
import { createFakeTerminal, until } from '../testing/fake-terminal.js';
import { approvalOf, eventOf } from '../testing/fixtures.js';

let server: ContractServer;
/** Closed after each test, also after a failed one. */
const terminals: FakeTerminal[] = [];
beforeEach(async () => {
  server = await startContractServer();
});
afterEach(async () => {
  for (const terminal of terminals.splice(0)) terminal.interrupt();
  await server.close();
});

const first = approvalOf({ approvalId: 'apr_1', toolName: 'first_tool' });
const second = approvalOf({ approvalId: 'apr_2', toolName: 'second_tool', requestedAt: '2026-11-22T09:58:00.000Z' });

/** An inbox on a fake terminal; `sees` waits until the screen shows a text. */
function openInbox(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const terminal = createFakeTerminal({ isTty: true, env: { NO_COLOR: '1', ...env } });
  terminals.push(terminal);
  const ended = runCli(['inbox', '--url', server.url, '--token', knownToken, ...args], terminal);
  const sees = (text: string) => until(() => terminal.screen().includes(text), terminal.screen);
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) {
      terminal.type(key);
      // Sends keys one by one: several at once would count as a paste.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  return { terminal, ended, sees, press };
}

function add(...approvals: readonly ReturnType<typeof approvalOf>[]): void {
  for (const approval of approvals) {
    server.approvals.set(approval.approvalId, approval);
    server.record(eventOf(approval, 'ApprovalRequested', server.events.length + 1));
  }
}

/** An editor that is a script: `$1` is the file. */
function editorThat(script: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'countersign-test-')), 'editor.sh');
  writeFileSync(file, `#!/bin/sh\n${script}\n`);
  chmodSync(file, 0o755);
  return file;
}

const responses = () =>
  server.requests.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body) as unknown);

describe('the interactive inbox', () => {
  it('shows what waits, what comes, and sends an answer', async () => {
    add(first);
    const { sees, press, ended, terminal } = openInbox();
    await sees('first_tool');
    add(second);
    await sees('2 waiting');
    await press('j');
    await sees('second_tool   pending');
    await press('a');
    await sees('Approve: it runs exactly as shown.');
    await press('o', 'k', '\r');
    await sees('Approved: second_tool. The approval is approved.');
    await sees('1 waiting');
    expect(responses()).toEqual([
      {
        decision: { type: 'approve' },
        reason: 'ok',
        proposalDigest: second.proposal.digest,
        shownDigest: second.shownDigest,
      },
    ]);
    await press('q');
    expect(await ended).toBe(0);
    expect(terminal.out().endsWith('\u001b[?1049l')).toBe(true);
  });

  it('says who answered when another person was faster', async () => {
    add(first);
    const { sees, press, ended } = openInbox();
    await sees('first_tool');
    await press('d');
    await sees('Deny: it will not run.');
    const respondedAt = new Date(Date.now() - 3000).toISOString();
    server.intercept = ({ method }) =>
      method === 'POST'
        ? problem(409, 'already-resolved', 'Over.', {
            resolution: 'approved',
            respondedBy: 'bob',
            respondedAt,
            via: 'slack',
          })
        : undefined;
    await press('\r');
    await sees('bob approved this 3 s ago via slack. Nothing is left to answer.');
    await press('\u0003');
    expect(await ended).toBe(0);
  });

  it('takes away what was answered elsewhere', async () => {
    add(first, second);
    const { sees, press, ended } = openInbox();
    await sees('2 waiting');
    await press('\r');
    await sees('first_tool   pending');
    const at = new Date().toISOString();
    const response = {
      number: 1,
      respondedBy: 'bob',
      onBehalfOf: null,
      decision: { type: 'deny' },
      reason: null,
      respondedAt: at,
      via: 'telegram',
      counted: true,
    } as const;
    server.approvals.set('apr_1', {
      ...first,
      state: 'denied',
      resolution: 'denied',
      resolvedAt: at,
      responses: [response],
    });
    server.record(eventOf(first, 'ApprovalResponded', 3));
    await sees('bob denied this just now via telegram.');
    await sees('1 waiting');
    await press('\r', 'q');
    expect(await ended).toBe(0);
  });

  it.each([
    ['its call', first.callId, 'ToolCallForgotten'],
    ['the policy', null, 'PolicyActivated'],
  ])('takes the keys away from an open card when an event of %s cannot be read', async (_, callId, type) => {
    add(first);
    const { sees, press, ended } = openInbox();
    await sees('1 waiting');
    await press('\r');
    await sees('first_tool   pending');
    const detail = 'It cannot be read: upgrade Countersign.';
    server.approvals.set('apr_1', { ...first, mayDecide: { now: false, why: 'unreadable', detail } });
    server.record({ ...eventOf(first, 'ApprovalResponded', 2), callId, type, data: null } as never);
    await sees('It cannot be read: upgrade Countersign.');
    await press('\u0003');
    expect(await ended).toBe(0);
  });

  it('edits in $EDITOR, also at the second attempt, and shows the change before it is sent', async () => {
    add(first);
    // The first time it spoils the file, the second time it repairs it.
    const EDITOR = editorThat(
      `case "$(cat "$1")" in *spoilt*) echo '{"path": "/tmp/x"}' ;; *) echo '{spoilt' ;; esac > "$1.new"; mv "$1.new" "$1"`,
    );
    const { sees, press, ended } = openInbox([], { EDITOR, PATH: process.env['PATH'] ?? '' });
    await sees('first_tool');
    await press('e');
    await sees('Press e to go on editing.');
    await press('e');
    await sees('Approve with your arguments: the change is below the card.');
    await press('\u001b[6~');
    await sees('+   "path": "/tmp/x"');
    await press('\r');
    await sees('Approved with your arguments: first_tool.');
    expect(responses()).toEqual([
      {
        decision: { type: 'edit', arguments: { path: '/tmp/x' } },
        proposalDigest: first.proposal.digest,
        shownDigest: first.shownDigest,
      },
    ]);
    await press('q');
    expect(await ended).toBe(0);
  });

  it('says so when the editor fails', async () => {
    add(first);
    const { sees, press, ended } = openInbox([], { EDITOR: 'false', PATH: process.env['PATH'] ?? '' });
    await sees('first_tool');
    await press('e');
    await sees('The editor "false" ended with 1. Nothing was sent.');
    await press('q');
    expect(await ended).toBe(0);
  });

  it('lives through a restart of the server', async () => {
    add(first);
    const { sees, press, ended } = openInbox();
    await sees('first_tool');
    server.intercept = () => problem(503, 'unavailable', 'about to stop');
    server.dropStreams();
    await sees('connection lost, trying again');
    server.intercept = () => undefined;
    add(second);
    await sees('2 waiting');
    await sees(server.url);
    await press('q');
    expect(await ended).toBe(0);
  });

  it('begins again, and says so, when the server was put back to an older log', async () => {
    add(first, second, approvalOf({ approvalId: 'apr_3', toolName: 'forgotten' }));
    const { sees, press, ended } = openInbox();
    await sees('3 waiting');
    server.events.splice(1);
    server.approvals.delete('apr_2');
    server.approvals.delete('apr_3');
    server.dropStreams();
    await sees('restored from a backup');
    await sees('1 waiting');
    add(approvalOf({ approvalId: 'apr_4', toolName: 'later' }));
    await sees('2 waiting');
    await press('q');
    expect(await ended).toBe(0);
  });

  it('reads the list again when it shows a part of it', async () => {
    add(first);
    const { sees, press, ended } = openInbox(['--tool', 'first_tool']);
    await sees('first_tool');
    add(second, approvalOf({ approvalId: 'apr_3', toolName: 'first_tool' }));
    await sees('2 waiting');
    await press('q');
    expect(await ended).toBe(0);
  });

  it.each([
    ['with a filter', ['--tool', 'first_tool'], 'filter'],
    ['after a lost connection', [], 'lost'],
  ] as const)('%s takes no key for a card that another person changed, before Enter', async (_, args, how) => {
    add(first);
    const { sees, press, ended } = openInbox(args);
    await sees('1 waiting');
    await press('\r');
    await sees('/etc/hosts');
    if (how === 'lost') {
      server.intercept = () => problem(503, 'unavailable', 'about to stop');
      server.dropStreams();
      await sees('connection lost, trying again');
    }
    const other = { ...first, arguments: { path: '/' }, shownDigest: `sha256:${'ef'.repeat(32)}` };
    server.approvals.set('apr_1', other);
    server.record(eventOf(first, 'ApprovalResponded', 2));
    server.intercept = () => undefined;
    await sees('"path": "/"');
    await press('a', '\r', 'a');
    await sees('Approve: it runs exactly as shown.');
    expect(responses()).toEqual([]);
    await press('\u0003');
    expect(await ended).toBe(0);
  });

  it('ends with the refusal when the token is no longer good, and gives the terminal back', async () => {
    add(first);
    const { sees, ended, terminal } = openInbox();
    await sees('first_tool');
    server.intercept = () => problem(401, 'unauthenticated', 'who are you?');
    server.dropStreams();
    expect(await ended).toBe(4);
    expect(terminal.out()).toContain('\u001b[?1049l');
    expect(terminal.err()).toContain('who are you?');
  });

  it('is left by an orderly kill', async () => {
    add(first);
    const { sees, ended, terminal } = openInbox();
    await sees('first_tool');
    terminal.interrupt();
    expect(await ended).toBe(130);
  });

  it('without a server says so before it takes the screen', async () => {
    const terminal = createFakeTerminal({ isTty: true });
    expect(await runCli(['inbox', '--url', 'http://127.0.0.1:1', '--token', 'x'], terminal)).toBe(3);
    expect(terminal.out()).toBe('');
  });
});

describe('without a terminal', () => {
  it('the inbox is the list, once', async () => {
    add(first, second);
    const terminal = createFakeTerminal();
    expect(await runCli(['inbox', '--url', server.url, '--token', knownToken], terminal)).toBe(0);
    expect(terminal.out()).toContain('apr_1');
    expect(terminal.out()).toContain('apr_2');
    expect(terminal.out()).not.toContain('\u001b');
  });

  it('or one JSON document per approval', async () => {
    add(first, second);
    const terminal = createFakeTerminal({ isTty: true });
    expect(await runCli(['inbox', '--json', '--url', server.url, '--token', knownToken], terminal)).toBe(0);
    const lines = terminal
      .out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toEqual([first, second]);
  });
});
