import type { Requirement, Stage, ToolCallEvent, Verdict } from '@countersign/contracts';
import type {
  CancelToolCall,
  DescribeApproval,
  ExpireApproval,
  LapseApproval,
  RemindApprovers,
  RequestApproval,
  RequestToolCall,
  ToolCallProposal,
} from '../tool-call.commands.js';
import type {
  EditDecision,
  RespondToApproval,
  RevealValues,
  Responder,
  WithdrawResponse,
} from '../tool-call.response-commands.js';
import { callId, digest, digestOf, firstApproval, minute, minuteMs, startMs, stored } from './constants.js';

export * from './constants.js';
export * from './execution-fixtures.js';

export const verdict = (outcome: Verdict['outcome'] = 'require'): Verdict => ({
  outcome,
  ruleId: 'refunds',
  policyVersion: digestOf('f'),
  automatic: outcome !== 'require',
  why: ['amount above 50'],
});

export const stage = (change: Partial<Stage> = {}): Stage => ({
  mode: 'quorum',
  approve: 1,
  deny: 1,
  groups: null,
  ...change,
});

export const requirement = (change: Partial<Requirement> = {}): Requirement => ({
  stages: [stage()],
  fourEyes: true,
  allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
  requireReason: [],
  minAssurance: null,
  risk: null,
  expiresInMs: 60 * minuteMs,
  executeByMs: 60 * minuteMs,
  onTimeout: 'deny',
  escalation: [],
  remindersMs: [],
  ...change,
});

export const proposal = (change: Partial<ToolCallProposal> = {}): ToolCallProposal => ({
  callId,
  tenant: 'default',
  runId: 'run-1',
  agentId: 'billing-agent',
  batchId: null,
  batchMode: 'independent',
  batchCallIds: [],
  toolCallId: 'call_1',
  toolName: 'refund_order',
  arguments: { amount: 100 },
  toolSchema: null,
  toolSchemaHash: null,
  salt: '00',
  actionDigest: digest,
  sensitive: [],
  needsApproval: true,
  reason: 'the customer asked',
  description: 'Refund 100',
  clientExecuted: false,
  idempotent: false,
  labels: {},
  requestedBy: 'agent',
  ...change,
});

/** A request that needs approval with the requirement `required`. */
export const request = (
  required: Partial<Requirement> = {},
  call: Partial<ToolCallProposal> = {},
): RequestToolCall => ({
  type: 'RequestToolCall',
  at: startMs,
  call: proposal(call),
  judgement: { outcome: 'require', verdict: verdict(), requirement: requirement(required) },
  approvalId: firstApproval,
});

export const requestAllowed = (call: Partial<ToolCallProposal> = {}): RequestToolCall => ({
  ...request({}, call),
  judgement: { outcome: 'allow', verdict: verdict('allow') },
});

export const requestBlocked = (): RequestToolCall => ({
  ...request(),
  judgement: { outcome: 'block', verdict: verdict('block'), reason: 'never' },
});

export const ask = (change: Partial<RequestApproval> = {}): RequestApproval => ({
  type: 'RequestApproval',
  at: minute(1),
  round: 1,
  approvalId: firstApproval,
  verdict: verdict(),
  requirement: requirement(),
  reason: null,
  description: null,
  requestedBy: 'agent',
  stopsOver: [],
  reach: 'own',
  ...change,
});

export const responder = (principal: string, change: Partial<Responder> = {}): Responder => ({
  principal,
  groups: ['ops'],
  via: 'inbox',
  assurance: 'medium',
  ...change,
});

/** A person who is asked only as the delegate of another. */
export const delegateOf = (principal: string, delegator: string, change: Partial<Responder> = {}): Responder =>
  responder(principal, { groups: ['none'], delegators: [{ principal: delegator, groups: ['ops'] }], ...change });

export const respond = (who: string | Responder, change: Partial<RespondToApproval> = {}): RespondToApproval => ({
  type: 'RespondToApproval',
  at: minute(5),
  approvalId: firstApproval,
  decision: { type: 'approve' },
  proposalDigest: null,
  actionDigest: null,
  reason: null,
  instruction: null,
  responder: typeof who === 'string' ? responder(who) : who,
  ...change,
});

export const revealTo = (who: string | Responder, change: Partial<RevealValues> = {}): RevealValues => ({
  type: 'RevealValues',
  at: minute(5),
  approvalId: firstApproval,
  pointers: ['/password'],
  outputPointers: [],
  responder: typeof who === 'string' ? responder(who) : who,
  ...change,
});

export const deny = (who: string | Responder, change: Partial<RespondToApproval> = {}): RespondToApproval =>
  respond(who, { decision: { type: 'deny' }, ...change });

export const answer = (
  who: string | Responder,
  output: string,
  change: Partial<RespondToApproval> = {},
): RespondToApproval => respond(who, { decision: { type: 'answer', output, hidesValues: false }, ...change });

export const edit = (letter = 'b', change: Partial<EditDecision> = {}): EditDecision => ({
  type: 'edit',
  arguments: { amount: letter },
  sensitive: [],
  salt: '00',
  actionDigest: digestOf(letter),
  invalid: [],
  judgement: { outcome: 'allow', verdict: verdict('allow') },
  ...change,
});

export const editBy = (who: string | Responder, decision = edit()): RespondToApproval => respond(who, { decision });

export const withdraw = (principal: string, at = minute(6)): WithdrawResponse => ({
  type: 'WithdrawResponse',
  at,
  approvalId: firstApproval,
  withdrawnBy: principal,
});

export const expire = (at = minute(60), approvalId = firstApproval): ExpireApproval => ({
  type: 'ExpireApproval',
  at,
  approvalId,
});

export const remind = (at: number): RemindApprovers => ({ type: 'RemindApprovers', at, approvalId: firstApproval });

export const lapseApproval = (at: number, approvalId = firstApproval): LapseApproval => ({
  type: 'LapseApproval',
  at,
  approvalId,
});

export const describeBy = (describedBy: string, change: Partial<DescribeApproval> = {}): DescribeApproval => ({
  type: 'DescribeApproval',
  at: minute(2),
  reason: 'a test database',
  description: null,
  describedBy,
  reach: 'own',
  ...change,
});

export const cancel = (at = minute(6), change: Partial<CancelToolCall> = {}): CancelToolCall => ({
  type: 'CancelToolCall',
  at,
  reason: 'no longer needed',
  cancelledBy: 'agent',
  reach: 'own',
  ...change,
});

/** The event of an accepted response, as `respond` makes it. */
export const responded = (
  respondedBy: string,
  change: Partial<Extract<ToolCallEvent, { type: 'ApprovalResponded' }>['data']> = {},
): ToolCallEvent => ({
  type: 'ApprovalResponded',
  data: {
    approvalId: firstApproval,
    decision: { type: 'approve' },
    proposal: 1,
    shown: null,
    actionDigest: digest,
    reason: null,
    instruction: null,
    respondedBy,
    onBehalfOf: null,
    groups: ['ops'],
    via: 'inbox',
    assurance: 'medium',
    automatic: false,
    respondedAt: stored(5),
    resolution: 'approved',
    executeBy: stored(65),
    ...change,
  },
});
