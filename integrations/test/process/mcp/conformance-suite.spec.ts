import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { freePort } from '../../../../test/ports.js';
import { cliCommand } from '../../../../test/process/cli/run-cli.js';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import { whileDeciding } from '../../adapters/installed-packages.js';
import { failuresOf, lostBehindTheGate, runSuite, runTaskScenarios, type Outcome } from './conformance-suite.js';
import { installLedger, startListening } from './mcp-client.js';
import { protocolVersions, taskExtension } from './protocol-versions.js';

cleanUpAfterAll();

const reference = join(import.meta.dirname, 'reference-server', 'main.ts');
let ledger: Ledger;
let approver: { readonly url: string; readonly token: string };
/** The addresses of a server and of the gates before it. */
interface Place {
  readonly direct: string;
  readonly none: string;
  readonly writes: string;
}
let place: Place;
let taskPlace: Place;
beforeAll(async () => {
  const { place: installed, ledger: ofPerson, env } = await installLedger();
  ledger = ofPerson;
  approver = { url: `http://127.0.0.1:${installed.port}`, token: installed.tokens.me };
  const listen = async (command: (port: string) => readonly string[]): Promise<string> => {
    const port = await freePort();
    await startListening(command(String(port)), env, port);
    return `http://127.0.0.1:${port}/mcp`;
  };
  const openPlace = async (server: string): Promise<Place> => {
    const direct = await listen((port) => [process.execPath, server, port]);
    const gate = (policy: string) =>
      listen((port) => cliCommand(['mcp', '--listen', port, '--gate', policy, '--server', direct]));
    return { direct, none: await gate('none'), writes: await gate('writes') };
  };
  place = await openPlace(reference);
  taskPlace = await openPlace(join(import.meta.dirname, 'tasks-server', 'main.ts'));
});

/** What the suite runs, and where. */
const tried = [
  ...protocolVersions.map((one) => ({
    ...{ ...one, name: `MCP ${one.version}`, at: () => place },
    run: (url: string) => runSuite(one.version, url),
  })),
  { ...taskExtension, name: 'the extension for tasks', at: () => taskPlace, run: runTaskScenarios },
];

describe.each(tried)('$name', ({ run, at, scenarios, approvals, notYet }) => {
  let atServer: Outcome;
  beforeAll(async () => {
    atServer = await run(at().direct);
  });

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
    expectAsNamed(await run(at().none));
  });

  it('passes them while a person approves each call', async () => {
    const before = await approvedCalls();
    expectAsNamed(await whileDeciding('approve', approver, () => run(at().writes)));
    const approved = (await approvedCalls()) - before;
    expect(approvals === 'some' && approved > 0 ? 'some' : approved).toBe(approvals);
  });
});

async function approvedCalls(): Promise<number> {
  return (await ledger.listApprovals({ state: 'approved', limit: 100 })).approvals.length;
}
