import type { Actor } from '@countersign/commands';
import type { Backtest, ExplainedCall, ExplanationView, PolicyEvent, PolicyView } from '@countersign/contracts';
import { timeOf, toExplanationView, toPolicyCall } from '@countersign/policy';
import { ok } from './answer.js';
import { backtest } from './backtest.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';

/** The reads of the policy. */
export interface PolicyReads {
  /** The policy in force, and since when. */
  readonly active: (actor: Actor) => Promise<Answer>;
  /** The verdict on a call, and what each rule says of it. Records nothing. */
  readonly explain: (actor: Actor, call: ExplainedCall) => Answer;
  /** The recorded calls that a candidate would judge differently, one JSON line each, and a summary. */
  readonly backtest: (actor: Actor, body: Backtest) => Promise<AsyncGenerator<string, void>>;
}

/** The policy side of the gateway. */
export function createPolicyReads(ports: GatewayPorts): PolicyReads {
  const { commands, store, clock } = ports;
  return {
    backtest: (actor, body) => backtest(ports, actor, body),
    active: async ({ tenant }) => {
      const { version, content } = commands.policies.of(tenant);
      const last = (await store.readStream(`policy-${tenant}`)).at(-1)?.data as PolicyEvent['data'] | undefined;
      const recorded = last?.policyVersion === version ? last : undefined;
      const { activatedAt = null, activatedBy = null } = recorded ?? {};
      const view: PolicyView = { policyVersion: version, content, activatedAt, activatedBy };
      return ok(view);
    },
    explain: ({ tenant }, call) => {
      // The tools file can make a call stricter, as it does when the call is requested.
      const isFlagged = commands.tools.find(tenant, call.toolName)?.needsApproval === true;
      const asked = { ...call, needsApproval: call.needsApproval === true || isFlagged };
      const explanation = commands.policies.of(tenant).explain(toPolicyCall(asked), timeOf(call, clock.now()));
      const view: ExplanationView = toExplanationView(explanation);
      return ok(view);
    },
  };
}
