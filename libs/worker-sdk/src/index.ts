export { childEnvironment } from './child-environment.js';
export { createClient } from './client.js';
export type {
  ClaimRequest,
  Client,
  ClientOptions,
  GetToolCallOptions,
  ListApprovalsOptions,
  ListRunsOptions,
  ListToolCallsOptions,
  RenewRequest,
} from './client.js';
export type { ApprovalPage, RunPage, ToolCallPage } from './answers.js';
export type { Clock as WorkerClock } from '@countersign/contracts/clock';
export { fetchUnencoded } from '@countersign/http-client';
export { CountersignError, isRefusal } from './errors.js';
export type { Problem } from './errors.js';
export type { EventsOptions } from './events.js';
export { checkGating, forwardedOptions } from './forwarded-options.js';
export type { OptionTable } from './forwarded-options.js';
export { gateModes, needsPerson } from './gate-mode.js';
export type { GateMode } from './gate-mode.js';
export { gateTool } from './gate-tool.js';
export { approvalUrl, gateRemedy, pendingText, withRemedy } from './gate-words.js';
export type {
  ApprovalContext,
  ApprovalVerdict,
  CheckedCall,
  ExecutionContext,
  GateTool,
  NeedsApproval,
  ProposedCall,
  Question,
  ToolDefinition,
  ToolGating,
} from './tool-definition.js';
export type { WorkerHooks } from './hooks.js';
export type { Middleware, RunningCall } from './middleware.js';
export type { ServeOptions } from './serve.js';
export type { FrameworkGate, RunMembers } from './framework-gate.js';
export type { CallEnd, FrameworkCall } from './framework-call.js';
export type { WaitOptions } from './limits.js';
export type { WorkerLog } from './log.js';
export { approvalFor } from './outcome.js';
export type { ClientCall, StepOutcome, StopReason } from './outcome.js';
export { createMayClaim, proveMayClaim } from './may-claim.js';
export type { MayClaim } from './may-claim.js';
export { modelNote, modelOutput, modelText } from './model-text.js';
export { assertRequested, didNotRun, NotApprovedError } from './not-approved.js';
export { resultOf } from './results.js';
export type { ToolResult, ToolResultStatus } from './results.js';
export type { KafkaRequests } from './kafka-requests.js';
export type { KafkaOptions, KafkaSasl, KafkaTls, RequestSigning, SigningKey } from './kafka/options.js';
export { isSameJson, issuesText, whyUnrecordable, withoutLookaround } from './schema.js';
export type { InputIssue, InputOf, JsonSchema } from './schema.js';
export type { RunState, Step } from './state.js';
export type { CallOptions, TransportOptions } from './transport.js';
export { problemOfClaim } from './verify-claim.js';
export type { ClaimProblem } from './verify-claim.js';
export { createWorker } from './worker.js';
export type { RunOptions, Worker, WorkerOptions } from './worker-options.js';
export type { ApprovalView, EventView, JsonObject, JsonValue, RunView, ToolCallView } from '@countersign/contracts';
