import type { ClientOutputBody, OutcomeBody } from '@countersign/contracts';
import { claim, reconcile, renewClaim, reportExecution, submitClientOutput } from '@countersign/commands';
import type { Receipted } from '@countersign/commands';
import type { Answer } from './answer.js';
import { conclude } from './conclude.js';
import type { WriteContext } from './conclude.js';
import type { GatewayPorts } from './ports.js';
import { callView } from './tool-calls.js';

type ClaimBody = Parameters<typeof claim>[3];
type RenewBody = Parameters<typeof renewClaim>[3];
type ReconcileBody = Parameters<typeof reconcile>[3];

/** The execution of calls by workers and clients. */
export interface Executions {
  readonly claim: (context: WriteContext, callId: string, body: ClaimBody) => Promise<Answer>;
  readonly renew: (context: WriteContext, callId: string, body: RenewBody) => Promise<Answer>;
  readonly report: (context: WriteContext, callId: string, body: OutcomeBody) => Promise<Answer>;
  readonly submitOutput: (context: WriteContext, callId: string, body: ClientOutputBody) => Promise<Answer>;
  readonly reconcile: (context: WriteContext, callId: string, body: ReconcileBody) => Promise<Answer>;
}

/** The execution routes of the gateway. The response to a claim is never shortened: its arguments are what runs. */
export function createExecutions(ports: GatewayPorts): Executions {
  const { commands } = ports;
  return {
    claim: async ({ actor, commandId }, callId, body) => {
      const outcome = await claim(commands, actor, callId, body, commandId);
      return conclude(ports, 'ClaimExecution', outcome, (claimed) => ({ ...claimed, ...receiptOf(ports, outcome) }));
    },
    renew: async ({ actor, commandId }, callId, body) => {
      const outcome = await renewClaim(commands, actor, callId, body, commandId);
      return conclude(ports, 'RenewClaim', outcome, (renewed) => ({ ...renewed, ...receiptOf(ports, outcome) }));
    },
    report: async ({ actor, commandId }, callId, body) => {
      const outcome = await reportExecution(commands, actor, callId, body, commandId);
      return conclude(ports, 'ReportExecution', outcome, () => callView(ports, actor, callId));
    },
    submitOutput: async ({ actor, commandId }, callId, body) => {
      const outcome = await submitClientOutput(commands, actor, callId, body, commandId);
      return conclude(ports, 'SubmitClientOutput', outcome, () => callView(ports, actor, callId));
    },
    reconcile: async ({ actor, commandId }, callId, body) => {
      const outcome = await reconcile(commands, actor, callId, body, commandId);
      return conclude(ports, 'ReconcileExecution', outcome, () => callView(ports, actor, callId));
    },
  };
}

/** The receipt of a claim, where there is a key for it. */
function receiptOf({ receipts }: GatewayPorts, outcome: Receipted<unknown>): { readonly receipt?: string } {
  const claimed = receipts === undefined || outcome.status === 'refused' ? undefined : outcome.receipt();
  return receipts === undefined || claimed === undefined ? {} : { receipt: receipts.sign(claimed) };
}
