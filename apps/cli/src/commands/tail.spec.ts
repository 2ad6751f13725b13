import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../program.js';
import { type ContractServer, knownToken, startContractServer } from '../testing/contract-server.js';
import { createFakeTerminal, until } from '../testing/fake-terminal.js';
import { approvalOf, eventOf } from '../testing/fixtures.js';

let server: ContractServer;
beforeEach(async () => {
  server = await startContractServer();
});
afterEach(() => server.close());

const call = approvalOf();
const event = (position: number) => eventOf(call, 'ApprovalRequested', position);

/** `countersign tail` until Ctrl-C. */
function tail(...args: readonly string[]) {
  const terminal = createFakeTerminal({ env: { COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken } });
  const ended = runCli(['tail', ...args], terminal);
  const shown = (): readonly number[] =>
    [...terminal.out().matchAll(/ #(\d+)/g)].map(([, position]) => Number(position));
  const sees = (...positions: readonly number[]) =>
    until(
      () => shown().join() === positions.join(),
      () => `${shown().join()} ${terminal.err()}`,
    );
  return { terminal, ended, sees };
}

describe('tail, after the log was restored from a backup', () => {
  it('starts again at the same place, and says so', async () => {
    server.events.push(event(1), event(2), event(3));
    const { terminal, ended, sees } = tail('--after', '1');
    await sees(2, 3);
    server.events.splice(2);
    server.dropStreams();
    await sees(2, 3, 2);
    expect(terminal.err()).toContain('The log was restored from a backup. Starting again after #1.\n');
    server.record(event(3));
    await sees(2, 3, 2, 3);
    terminal.interrupt();
    expect(await ended).toBe(130);
  });

  it('starts with new events if the restored log does not have that place', async () => {
    server.events.push(event(1), event(2), event(3));
    const { terminal, ended, sees } = tail('--after', '2');
    await sees(3);
    server.events.splice(1);
    server.dropStreams();
    await until(() => terminal.err().includes('The log was restored from a backup. Continuing with new events only.'));
    await until(() => server.requests.at(-1)?.path.includes('after=now') === true);
    server.record(event(2));
    await sees(3, 2);
    terminal.interrupt();
    expect(await ended).toBe(130);
  });

  it('refuses a place that the log did not have at the start', async () => {
    server.events.push(event(1));
    const { terminal, ended } = tail('--after', '9');
    expect(await ended).not.toBe(130);
    expect(terminal.err()).toContain('the log has not given out that position');
  });
});
