import type { ApprovalView, DecisionType, JsonObject, JsonValue, ToolCallView } from '@countersign/contracts';
import { createClient, CountersignError, type Client } from '@countersign/worker-sdk';
import type { KafkaAddress } from './protocol.js';

/** Where the Countersign of the kit is, and the tokens of its three sides. */
export interface LedgerAddress {
  readonly url: string;
  readonly agentToken: string;
  readonly workerToken: string;
  readonly approverToken: string;
  /** Agents request over Kafka. Default: over HTTP. */
  readonly kafka?: KafkaAddress;
}

/** A person's decision in a scenario. */
export type ScriptedDecision =
  | { readonly type: 'approve' }
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'edit'; readonly arguments: JsonObject }
  | { readonly type: 'answer'; readonly output: JsonValue };

/** The ledger's reads and commands for one run of a scenario. */
export interface RunInLedger {
  readonly callOf: (toolCallId: string) => Promise<ToolCallView | undefined>;
  /** The ids of all calls of the run. */
  readonly toolCallIds: () => Promise<readonly string[]>;
  /** Waits until the call has an approval, which may have ended since. */
  readonly untilAsked: (toolCallId: string) => Promise<ToolCallView>;
  /** Waits until the call is in one of the states. */
  readonly until: (toolCallId: string, ...states: readonly ToolCallView['state'][]) => Promise<ToolCallView>;
  readonly decide: (toolCallId: string, decision: ScriptedDecision) => Promise<void>;
  /**
   * Waits until the call has succeeded, whose run has ended. Throws after some seconds when nobody has claimed it: nobody
   * will, so its tool ran without the ledger.
   */
  readonly untilSucceeded: (toolCallId: string) => Promise<ToolCallView>;
  /** Decides, and returns the code of the refusal. Throws when it is accepted. */
  readonly refusalOf: (approval: ApprovalView, type: DecisionType & 'approve') => Promise<string>;
  readonly cancel: (toolCallId: string, reason: string) => Promise<void>;
}

const lookEveryMs = 50;
const untilMsMax = 100_000;
/** The claim of a tool that ran is older than the end of its run. */
const claimedWithinMs = 5_000;
const isUnclaimed = ({ state }: ToolCallView): boolean => state === 'approved' || state === 'allowed';

/** Opens one run of the ledger for a scenario. */
export function openRun({ url, agentToken, approverToken }: LedgerAddress, runId: string): RunInLedger {
  const agent = createClient({ url, token: agentToken });
  const approver = createClient({ url, token: approverToken });
  const callOf = async (toolCallId: string): Promise<ToolCallView | undefined> =>
    (await callsOf(agent, runId)).find((call) => call.toolCallId === toolCallId);
  const untilTrue = async (
    toolCallId: string,
    expected: string,
    isTrue: (call: ToolCallView) => boolean,
    limitOf: (call: ToolCallView | undefined) => number = () => untilMsMax,
  ): Promise<ToolCallView> => {
    const startedAt = performance.now();
    for (;;) {
      const call = await callOf(toolCallId);
      if (call !== undefined && isTrue(call)) return call;
      if (performance.now() - startedAt > limitOf(call)) {
        throw new Error(`${toolCallId} is ${call?.state ?? 'not recorded'}; expected: ${expected}`);
      }
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    }
  };
  const until: RunInLedger['until'] = (toolCallId, ...states) =>
    untilTrue(toolCallId, states.join(' or '), ({ state }) => states.includes(state));
  const respond = async (approval: ApprovalView, decision: ScriptedDecision): Promise<void> => {
    const { approvalId, proposal } = approval;
    const reason = decision.type === 'deny' ? { reason: decision.reason } : {};
    const body = decision.type === 'deny' ? { type: decision.type } : decision;
    await approver.respond(approvalId, { decision: body, proposalDigest: proposal.digest, ...reason });
  };
  return {
    callOf,
    toolCallIds: async () => (await callsOf(agent, runId)).map(({ toolCallId }) => toolCallId),
    untilAsked: (toolCallId) => untilTrue(toolCallId, 'an approval', ({ approval }) => approval !== null),
    until,
    untilSucceeded: (toolCallId) =>
      untilTrue(
        toolCallId,
        'succeeded',
        ({ state }) => state === 'succeeded',
        (call) => (call !== undefined && isUnclaimed(call) ? claimedWithinMs : untilMsMax),
      ),
    decide: async (toolCallId, decision) => {
      const { approval } = await until(toolCallId, 'awaiting_approval');
      if (approval === null) throw new Error(`${toolCallId} has no approval`);
      await respond(approval, decision);
    },
    refusalOf: async (approval, type) => {
      try {
        await respond(approval, { type });
      } catch (error) {
        if (error instanceof CountersignError) return error.code;
        throw error;
      }
      throw new Error(`the ledger accepted a late ${type}`);
    },
    cancel: async (toolCallId, reason) => {
      const { callId } = await until(toolCallId, 'awaiting_approval');
      await agent.cancel(callId, reason);
    },
  };
}

async function callsOf(client: Client, runId: string): Promise<readonly ToolCallView[]> {
  try {
    return (await client.getRun(runId)).calls;
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'not-found') return [];
    throw error;
  }
}
