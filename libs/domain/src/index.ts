export { fold } from './decider.js';
export type { Decider, Decision } from './decider.js';
export type {
  CancelToolCall,
  ClaimExecution,
  EditDecision,
  ExpireApproval,
  InvalidArgument,
  Judgement,
  LapseApproval,
  LapseClaim,
  Outcome,
  ReconcileExecution,
  RemindApprovers,
  RenewClaim,
  ReportExecution,
  DescribeApproval,
  RequestApproval,
  RequestToolCall,
  RespondToApproval,
  Responder,
  ResponseDecision,
  SiblingCall,
  SubmitClientOutput,
  ToolCallCommand,
  ToolCallProposal,
  WithdrawResponse,
} from './tool-call.commands.js';
export { dueAt, dueCommand } from './tool-call.deadlines.js';
export type { Deadline, DeadlineCommand } from './tool-call.deadlines.js';
export { toolCallDecider } from './tool-call.decider.js';
export {
  callState,
  currentApproval,
  initialState,
  isDecided,
  isSettled,
  nextRound,
  recordedSalt,
} from './tool-call.state.js';
export type {
  Action,
  Approval,
  CallState,
  Escalation,
  Execution,
  Permission,
  Proposal,
  Resolution,
  SettledBy,
  ToolCall,
  ToolCallState,
  Vote,
} from './tool-call.state.js';
