/** The events about messages to people. */
export const deliveryTypes = ['NotificationDelivered', 'NotificationUpdated', 'NotificationFailed'] as const;

/** The events about the run of a tool. */
export const executionTypes = [
  'ExecutionClaimed',
  'ExecutionClaimRenewed',
  'ExecutionSucceeded',
  'ExecutionFailed',
  'ExecutionLapsed',
  'ExecutionOutcomeUnknown',
  'ExecutionReconciled',
] as const;

/** Everything that can be recorded about a call. */
export const callEventTypes = [
  'ToolCallRequested',
  'ToolCallAllowed',
  'ToolCallBlocked',
  'ToolCallShadowJudged',
  'ApprovalRequested',
  'ApprovalDescribed',
  'ApprovalResponded',
  'ResponseWithdrawn',
  'ValuesRevealed',
  'ApprovalExpired',
  'ApprovalEscalated',
  'ApproversReminded',
  'ApprovalLapsed',
  'ToolCallCancelled',
  'ToolCallCommitted',
  'ToolCallQueued',
  ...executionTypes,
  ...deliveryTypes,
] as const;
