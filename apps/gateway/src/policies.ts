import type { Actor } from '@countersign/commands';
import { isReadable, limits, policyStream } from '@countersign/contracts';
import type {
  Backtest,
  ExplainedCall,
  ExplanationView,
  PolicyEvent,
  PolicySuggestions,
  PolicySuggestionsQuery,
  PolicyVersions,
  PolicyVersionsQuery,
  PolicyView,
  ShadowReport,
} from '@countersign/contracts';
import { timeOf, toExplanationView, toPolicyCall } from '@countersign/policy';
import { ok } from './answer.js';
import { backtest } from './backtest.js';
import type { Answer } from './answer.js';
import type { FairTurns } from './limits/fair-turns.js';
import type { GatewayPorts } from './ports.js';
import { suggest } from './policy-suggestions.js';
import { quotaViews } from './quota-views.js';
import { shadowReport } from './shadow-report.js';

/** The reads of the policy. */
export interface PolicyReads {
  /** The policy in force, and since when. */
  readonly active: (actor: Actor) => Promise<Answer>;
  /** Every activation of a policy, the latest first; with `policyVersion` those of one version, with its content. */
  readonly versions: (actor: Actor, query: PolicyVersionsQuery) => Promise<Answer>;
  /** Returns the verdicts of the candidate policy about the recorded calls. @throws the signal's reason. */
  readonly shadow: (actor: Actor, signal: AbortSignal) => Promise<ShadowReport>;
  /** Rules that would allow what people always approved unchanged. @throws the signal's reason. */
  readonly suggest: (actor: Actor, query: PolicySuggestionsQuery, signal: AbortSignal) => Promise<PolicySuggestions>;
  /** The verdict on a call, and what each rule says of it. Records nothing. */
  readonly explain: (actor: Actor, call: ExplainedCall) => Answer;
  /** The recorded calls that a candidate would judge differently, one JSON line each, and a summary. */
  readonly backtest: (actor: Actor, body: Backtest) => Promise<AsyncGenerator<string, void>>;
}

/** The policy side of the gateway. */
export function createPolicyReads(ports: GatewayPorts, turns: FairTurns): PolicyReads {
  const { commands, store, clock } = ports;
  return {
    backtest: (actor, body) => backtest(ports, actor, body),
    active: async ({ tenant }) => {
      const { version, content } = commands.policies.of(tenant);
      const event = (await store.readStream(policyStream(tenant))).at(-1);
      const last = event === undefined || !isReadable(event) ? undefined : (event.data as PolicyEvent['data']);
      const recorded = last?.policyVersion === version ? last : undefined;
      const { activatedAt = null, activatedBy = null } = recorded ?? {};
      const view: PolicyView = { policyVersion: version, content, activatedAt, activatedBy };
      return ok(view);
    },
    versions: async ({ tenant }, { policyVersion, limit = limits.pageSizeDefault }) => {
      const recorded = (await store.readStream(policyStream(tenant))).filter(isReadable);
      const activations = recorded.map(({ data }) => data as PolicyEvent['data']);
      const wanted = activations.filter((one) => policyVersion === undefined || one.policyVersion === policyVersion);
      const versions = wanted
        .toReversed()
        .slice(0, limit)
        // One version has one content, however often it was activated.
        .map(({ content, ...activation }, index) =>
          policyVersion !== undefined && index === 0 ? { ...activation, content } : activation,
        );
      const view: PolicyVersions = { versions, more: wanted.length > versions.length };
      return ok(view);
    },
    suggest: (actor, query, signal) => suggest(ports, turns, actor, query, signal),
    shadow: (actor, signal) => shadowReport(ports, turns, actor, signal),
    explain: ({ tenant }, call) => {
      // The tools file can make a call stricter, as it does when the call is requested.
      const isFlagged = commands.tools.find(tenant, call.toolName)?.needsApproval === true;
      const asked = { ...call, needsApproval: call.needsApproval === true || isFlagged };
      const explanation = commands.policies.of(tenant).explain(toPolicyCall(asked), timeOf(call, clock.now()));
      const isAsked = explanation.judgement.verdict.outcome === 'require';
      const quotas = isAsked ? quotaViews(commands, tenant, call) : [];
      const { agentId, requestedBy = agentId } = call;
      const countedFor = { requestedBy, isAssumed: call.requestedBy === undefined };
      const view: ExplanationView = {
        ...toExplanationView(explanation),
        quotas,
        ...(quotas.length > 0 && { countedFor }),
      };
      return ok(view);
    },
  };
}
