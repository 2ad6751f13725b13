export { areEqualJson } from './json-equality.js';
export { firstStageShortOf, shortageDetail, shortageOf } from './shortage.js';
export type { Shortage } from './shortage.js';
export { answerableAtMs, defaultPace, isFast, readingMs } from './attention.js';
export type { Pace } from './attention.js';
export { callToSettle, closingOf, concernsBatch, neededWord, settlementOf, standingIn } from './batch.settlement.js';
export type { BatchBound, BrokenBatch, NeededWord, Settlement } from './batch.settlement.js';
export { businessSpans } from './business-hours.js';
export { batchDecider, standingOf } from './batch.decider.js';
export type { BatchCommand, BatchMember, BatchState, Standing } from './batch.decider.js';
export { fold } from './decider.js';
export type { Decider, RuleResult, Fold } from './decider.js';
export { stopDecider } from './stop.decider.js';
export type { DeclareStop, LiftStop, StopCommand } from './stop.decider.js';
export { fileStopId, isInForce, stoppedCallsWords } from './stop.state.js';
export type { Stop, Stops } from './stop.state.js';
export { deliveryDecider, keyText } from './delivery.decider.js';
export type { Deliveries, Delivery, DeliveryCommand, MessageKey } from './delivery.decider.js';
export { couldApprove, couldApproveAlone } from './grant.coverage.js';
export type { PeopleOfGrant } from './grant.coverage.js';
export { grantDecider, needsSecondPerson } from './grant.decider.js';
export type { ConfirmGrant, CreateGrant, GrantCommand, RevokeGrant, UseGrant } from './grant.decider.js';
export { grantStateAt, holdsUse, isExhausted } from './grant.state.js';
export type { Grant, GrantState } from './grant.state.js';
export { chainInside, decideStep, mayNotSpeakFor, refusedUnread, toJudgement } from './step.decider.js';
export type { DecidedCall, StepDecision } from './step.decider.js';
export type {
  ApproversOfGrant,
  ArgumentCheck,
  AskedCall,
  CheckedCall,
  GrantFacts,
  JudgedCall,
  MatchFacts,
  StepCall,
  StepFacts,
  StepLimits,
  StepParent,
} from './step.facts.js';
export { coverByGrants, isInReach, isInScope, matchesArguments, suffices } from './step.grants.js';
export { overQuota, quotaFindings } from './step.questions.js';
export type { QuotaFinding } from './step.questions.js';
export type {
  AskedBefore,
  Counted,
  Question,
  QuestionFacts,
  QuotaFacts,
  QuotaLimits,
  WaitingCall,
} from './quota-facts.js';
export { refusedUntold } from './tool-call.approval.js';
export { notOpen } from './tool-call.approval-checks.js';
export { beforeOwnProposals, isMemberWith, otherMembersOf } from './tool-call.others.js';
export { asksAll, endingOf, isBatchMember, isLateQuestion } from './tool-call.batch.js';
export { isErased, runEndedBy } from './tool-call.take-turn.js';
export { holdsTurn, isSequential, queuedIn, queueOf } from './tool-call.turn.js';
export type { QueuedRequest } from './tool-call.turn.js';
export type { Ending } from './tool-call.batch.js';
export type { BatchFate, Judgement } from './tool-call.command-base.js';
export type {
  CancelToolCall,
  ExpireApproval,
  LapseApproval,
  RemindApprovers,
  DescribeApproval,
  RequestApproval,
  RequestToolCall,
  TakeTurn,
  ToolCallCommand,
  ToolCallProposal,
} from './tool-call.commands.js';
export type {
  Delegator,
  EditDecision,
  PossibleApprover,
  RespondToApproval,
  Responder,
  ResponseDecision,
  VoterNow,
  WithdrawResponse,
} from './tool-call.response-commands.js';
export type {
  ClaimExecution,
  LapseClaim,
  Outcome,
  ReconcileExecution,
  RenewClaim,
  ReportExecution,
  SubmitClientOutput,
} from './tool-call.execution-commands.js';
export { isBlank } from './blank.js';
export { isSameIdentity } from './identity.js';
export { notOwner } from './ownership.js';
export type { Reach } from './ownership.js';
export { dueAt, dueCommand } from './tool-call.deadlines.js';
export type { Deadline, DeadlineCommand } from './tool-call.deadlines.js';
export { toolCallDecider } from './tool-call.decider.js';
export { blockReason, compareRepeat, hasSameMembers, isDeniedInCode, stoppedBy } from './tool-call.request.js';
export { askedNobody } from './tool-call.question.js';
export type { Repeat } from './tool-call.request.js';
/** The rules of a tool call by name, so that the code that handles a request names the rule that it applies. */
export * as toolCallRules from './tool-call.rules.js';
export type { Rule } from './tool-call.rules.js';
export {
  callState,
  currentApproval,
  initialState,
  isDecided,
  isSettled,
  nextRound,
  recordedSalt,
} from './tool-call.state.js';
export { columnsOf, highestRisk, isWithinRisk, needsSignature } from './requirement.js';
export { isSignedEnough } from './signed-votes.js';
export { passkeyDecider, passkeyInForce } from './passkey.decider.js';
export type {
  ConfirmPasskey,
  Passkey,
  PasskeyCommand,
  Passkeys,
  RegisterPasskey,
  RemovePasskey,
} from './passkey.decider.js';
export type { Column, Member } from './requirement.js';
export { currentProposal, digestInputOf, expiresAtOf, requirementOf, requirementOfRequest } from './proposal.js';
export { historyLimits } from './history-limits.js';
export { agrees, groupsAsked, groupsOfProposal, progressOf } from './seats.js';
export { withVotersNow } from './voters.js';
export { instructionsOf, shownRevisionOf, standingVoteBy } from './voting.js';
export type { Instruction } from './voting.js';
export { upcomingOf } from './upcoming.js';
export type {
  Action,
  Approval,
  CallState,
  Escalation,
  Execution,
  Permission,
  Proposal,
  RequirementClock,
  Resolution,
  SettledBy,
  ToolCall,
  ToolCallState,
  Vote,
} from './tool-call.state.js';
