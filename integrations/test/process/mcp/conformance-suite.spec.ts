import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { freePort } from '../../../../test/ports.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import { whileDeciding } from '../../adapters/installed-packages.js';
import { failuresOf, lostBehindTheGate, runSuite, type Outcome } from './conformance-suite.js';
import { installLedger, startListening } from './mcp-client.js';
import { protocolVersions } from './protocol-versions.js';

jest.setTimeout(120_000);
cleanUpAfterAll();

const reference = join(import.meta.dirname, 'reference-server', 'main.ts');
let ledger: Ledger;
let approver: { readonly url: string; readonly token: string };
let direct: string;
let gates: Readonly<Record<'none' | 'writes', string>>;
beforeAll(async () => {
  const { place, ledger: ofPerson, env } = await installLedger();
  ledger = ofPerson;
  approver = { url: `http://127.0.0.1:${place.port}`, token: place.tokens.me };
  const listen = async (command: (port: string) => readonly string[]): Promise<string> => {
    const port = await freePort();
    await startListening(command(String(port)), env, port);
    return `http://127.0.0.1:${port}/mcp`;
  };
  direct = await listen((port) => [process.execPath, reference, port]);
  const gate = (policy: string) =>
    listen((port) => cliCommand(['mcp', '--listen', port, '--gate', policy, '--server', direct]));
  gates = { none: await gate('none'), writes: await gate('writes') };
}, 120_000);

describe.each(protocolVersions)('MCP $version', ({ version, scenarios, approvals, notYet }) => {
  let atServer: Outcome;
  beforeAll(async () => {
    atServer = await runSuite(version, direct);
  }, 120_000);

  it('passes all scenarios at the reference server', () => {
    expect([atServer.size, failuresOf(atServer)]).toEqual([scenarios, []]);
  });

  /** Without the reasons a failed comparison says little. */
  const expectAsNamed = (gated: Outcome): void => {
    const lost = lostBehindTheGate(atServer, gated);
    const reasons = isDeepStrictEqual(lost, notYet) ? [] : failuresOf(gated);
    expect({ lost, reasons }).toEqual({ lost: notYet, reasons: [] });
  };

  it('passes the same scenarios behind a gate that asks no person', async () => {
    expectAsNamed(await runSuite(version, gates.none));
  });

  it('passes them while a person approves each call', async () => {
    const before = await approvedCalls();
    expectAsNamed(await whileDeciding('approve', approver, () => runSuite(version, gates.writes)));
    expect((await approvedCalls()) - before).toBe(approvals);
  });
});

async function approvedCalls(): Promise<number> {
  return (await ledger.listApprovals({ state: 'approved', limit: 100 })).approvals.length;
}
