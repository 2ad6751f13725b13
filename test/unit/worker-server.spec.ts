// The worker SDK's fake server follows the product: both pass one suite.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolCallState, ToolCallView } from '@countersign/contracts';
import { openCountersign } from '@countersign/standalone';
import { createClient } from '@countersign/worker-sdk';
import { workerServerContract } from '../../libs/worker-sdk/src/testing/contract/worker-server.contract.js';

function tokenOf(data: string, principal: string): string {
  const entries = JSON.parse(readFileSync(join(data, 'tokens.json'), 'utf8')) as { principal: string; token: string }[];
  const entry = entries.find((one) => one.principal === principal);
  if (entry === undefined) throw new Error(`no token of ${principal} in ${data}`);
  return entry.token;
}

workerServerContract({
  name: 'the product, in this process',
  open: async () => {
    const data = mkdtempSync(join(tmpdir(), 'countersign-worker-server-'));
    const env = { COUNTERSIGN_DATA: data, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'silent' };
    const { url, connection, close } = await openCountersign(env);
    const me = tokenOf(data, 'me');
    const person = createClient({ url, token: me });
    const untilNot = async (call: ToolCallView, state: ToolCallState): Promise<void> => {
      while ((await person.getToolCall(call.callId)).state === state)
        await new Promise((resolve) => setTimeout(resolve, 20));
    };
    let mayClaim = true;
    return {
      url,
      fetch,
      token: connection.token,
      resolverToken: () => (mayClaim ? connection.resolverToken : connection.token),
      respond: async ({ approval }, response) => {
        await person.respond(approval?.approvalId ?? '', response);
      },
      expire: (call) => untilNot(call, 'awaiting_approval'),
      endLease: (call) => untilNot(call, 'executing'),
      retry: async ({ callId }) => {
        const headers = { authorization: `Bearer ${me}`, 'content-type': 'application/json' };
        const body = JSON.stringify({ status: 'retry', note: 'it did not run' });
        const response = await fetch(`${url}/v1/tool-calls/${callId}/reconcile`, { method: 'POST', headers, body });
        if (!response.ok) throw new Error(await response.text());
      },
      setMayClaim: (may) => {
        mayClaim = may;
      },
      close: async () => {
        await close();
        rmSync(data, { recursive: true, force: true });
      },
    };
  },
});
