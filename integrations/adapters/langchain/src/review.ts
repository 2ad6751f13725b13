import {
  askedCall,
  offeredDecisions,
  toldText,
  type ApprovalView,
  type AskedCall,
  type JsonObject,
} from '@countersign/worker-sdk';

/**
 * The value of the interrupt of a call that waits for people: the request of LangChain's human-in-the-loop middleware for
 * one action, and where the question is in Countersign. It is for showing. A resume value decides nothing.
 */
export interface CountersignInterrupt {
  readonly actionRequests: readonly [
    { readonly name: string; readonly args: JsonObject; readonly description?: string },
  ];
  readonly reviewConfigs: readonly [{ readonly actionName: string; readonly allowedDecisions: readonly string[] }];
  readonly countersign: Omit<AskedCall, 'arguments' | 'toolName'> & {
    readonly approvalId: string;
    readonly callId: string;
    readonly toolCallId: string;
  };
}

/** A decision of LangChain's human-in-the-loop middleware. */
export type HitlDecision =
  | { readonly type: 'approve' }
  | { readonly type: 'edit'; readonly editedAction: { readonly name: string; readonly args: JsonObject } }
  | { readonly type: 'reject'; readonly message?: string }
  | { readonly type: 'respond'; readonly message: string };

/** A response of the Agent Inbox. */
export type AgentInboxResponse =
  | { readonly type: 'accept'; readonly args?: unknown }
  | { readonly type: 'edit'; readonly args: { readonly action: string; readonly args: JsonObject } }
  | { readonly type: 'response'; readonly args: string }
  | { readonly type: 'ignore'; readonly args?: unknown };

/** A response for `client.respond(approvalId, body)`, under the token of the person who decided. */
export interface ReviewedCall {
  readonly approvalId: string;
  readonly body: {
    readonly proposalDigest: string;
    readonly shownDigest: string;
    /** Of all but a denial: one that is sent again after a withdrawal does not count. */
    readonly shownRevision?: number;
    /** Of all but a denial, where the call runs together with others of its step. */
    readonly shownOthersDigest?: string;
    readonly reason?: string;
    readonly decision:
      | { readonly type: 'approve' | 'deny' }
      | { readonly type: 'edit'; readonly arguments: JsonObject }
      | { readonly type: 'answer'; readonly output: string };
  };
}

/** The request of LangChain's middleware for one pending approval. */
export function interruptOf(approval: ApprovalView): CountersignInterrupt {
  const { toolName: name, arguments: args, approvalId, callId, toolCallId } = approval;
  const asked = askedCall(approval);
  // All that a response is bound to is shown: an edit, an answer in place of the run, and the instructions.
  const description = toldText({ ...asked, description: approval.description });
  // Those of the request above.
  const { arguments: _args, toolName: _name, ...bound } = asked;
  const words = { approve: 'approve', edit: 'edit', deny: 'reject', answer: 'respond' } as const;
  return {
    actionRequests: [{ name, args, ...(description === '' ? {} : { description }) }],
    reviewConfigs: [{ actionName: name, allowedDecisions: offeredDecisions(approval).map((type) => words[type]) }],
    countersign: { approvalId, callId, toolCallId, ...bound },
  };
}

/**
 * Returns the decisions of a user interface for LangChain's middleware as responses for Countersign. The i-th decision
 * is about the i-th interrupt. Throws a TypeError when their numbers differ, when an edit names another tool, and for an
 * unknown decision.
 */
export function hitlResponses(
  interrupts: readonly CountersignInterrupt[],
  decisions: readonly HitlDecision[],
): readonly ReviewedCall[] {
  return paired(interrupts, decisions).map(([interrupt, decision]) => {
    switch (decision.type) {
      case 'approve':
        return reviewed(interrupt, { type: 'approve' });
      case 'edit':
        return reviewed(interrupt, edited(interrupt, decision.editedAction.name, decision.editedAction.args));
      case 'reject':
        return reviewed(interrupt, { type: 'deny' }, decision.message);
      case 'respond':
        return reviewed(interrupt, { type: 'answer', output: decision.message });
      default:
        return unknownType(decision);
    }
  });
}

/**
 * The same for the Agent Inbox. It writes edited values as text: a text becomes a number, a boolean or null again where the
 * original value was one.
 */
export function agentInboxResponses(
  interrupts: readonly CountersignInterrupt[],
  responses: readonly AgentInboxResponse[],
): readonly ReviewedCall[] {
  return paired(interrupts, responses).map(([interrupt, response]) => {
    switch (response.type) {
      case 'accept':
        return reviewed(interrupt, { type: 'approve' });
      case 'edit': {
        const { action, args } = response.args;
        return reviewed(interrupt, edited(interrupt, action, coerced(args, interrupt.actionRequests[0].args)));
      }
      case 'response':
        return reviewed(interrupt, { type: 'answer', output: response.args });
      case 'ignore':
        return reviewed(interrupt, { type: 'deny' }, 'ignored in the inbox');
      default:
        return unknownType(response);
    }
  });
}

/** A user interface may send what the types do not have. */
function unknownType(decision: never): never {
  throw new TypeError(`there is no decision "${String((decision as { type?: unknown }).type)}"`);
}

function paired<T>(interrupts: readonly CountersignInterrupt[], decisions: readonly T[]): [CountersignInterrupt, T][] {
  if (interrupts.length !== decisions.length) {
    const counts = `${String(decisions.length)} decisions for ${String(interrupts.length)} calls`;
    throw new TypeError(`${counts}: there must be one for each, in the same order`);
  }
  return interrupts.flatMap((interrupt, index) => {
    const decision = decisions[index];
    return decision === undefined ? [] : [[interrupt, decision] satisfies [CountersignInterrupt, T]];
  });
}

function reviewed(
  { countersign }: CountersignInterrupt,
  decision: ReviewedCall['body']['decision'],
  reason?: string,
): ReviewedCall {
  const { approvalId, proposalDigest, shownDigest, shownRevision, shownOthersDigest } = countersign;
  const others = shownOthersDigest === undefined ? {} : { shownOthersDigest };
  // A denial only restricts: what others vote or withdraw meanwhile makes no old one of it.
  const bound = decision.type === 'deny' ? {} : { shownRevision, ...others };
  const why = reason === undefined ? {} : { reason };
  return { approvalId, body: { proposalDigest, shownDigest, ...bound, decision, ...why } };
}

function edited(interrupt: CountersignInterrupt, name: string, args: JsonObject): ReviewedCall['body']['decision'] {
  const asked = interrupt.actionRequests[0].name;
  if (name !== asked) throw new TypeError(`an edit cannot change the tool: ${asked} was asked for, not ${name}`);
  return { type: 'edit', arguments: args };
}

function coerced(args: JsonObject, original: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => {
      const before = original[name];
      if (typeof value !== 'string' || typeof before === 'string' || before === undefined) return [name, value];
      try {
        return [name, JSON.parse(value) as JsonObject[string]];
      } catch {
        return [name, value];
      }
    }),
  );
}
