export { childEnvironment } from './execution/child-environment.js';
export { createClient } from './ledger/client.js';
export type {
  ClaimRequest,
  Client,
  ClientOptions,
  GetToolCallOptions,
  ListApprovalsOptions,
  ListRunsOptions,
  ListToolCallsOptions,
  RenewRequest,
} from './ledger/client.js';
export type { ApprovalPage, Me, RunPage, ToolCallPage } from './ledger/answers.js';
export type { Clock as WorkerClock } from '@countersign/contracts/clock';
export { fetchUnencoded } from '@countersign/http-client';
export { CountersignError, isRefusal } from './errors.js';
export type { Problem } from './errors.js';
export type { EventsOptions } from './ledger/events.js';
export { checkGating, forwardedOptions } from './tools/forwarded-options.js';
export type { OptionTable } from './tools/forwarded-options.js';
export { gateModes, needsPerson } from './tools/gate-mode.js';
export type { GateMode } from './tools/gate-mode.js';
export { gateTool } from './tools/gate-tool.js';
export { approvalUrl, gateRemedy, pendingText, withRemedy } from './tools/gate-words.js';
export type {
  ApprovalContext,
  ApprovalVerdict,
  CheckedCall,
  CodeDecision,
  Decide,
  ExecutionContext,
  GateTool,
  NeedsApproval,
  ProposedCall,
  Question,
  ToolDefinition,
  ToolGating,
} from './tools/tool-definition.js';
export type { Labels } from './tools/call-labels.js';
export type { WorkerHooks } from './hooks.js';
export type { Middleware, RunningCall } from './execution/middleware.js';
export type { ServeOptions } from './execution/serve.js';
export type { AbortableRunMembers, FrameworkGate, RunMembers } from './steps/framework-gate.js';
export type { CallEnd, FrameworkCall } from './steps/framework-call.js';
export type { StateOptions, WaitOptions } from './limits.js';
export type { WorkerLog } from './log.js';
export { approvalFor } from './results/outcome.js';
export type { ClientCall, StepOutcome, StopReason } from './results/outcome.js';
export { createMayClaim, proveMayClaim } from './ledger/may-claim.js';
export type { MayClaim } from './ledger/may-claim.js';
export { modelNote, modelOutput, modelText } from './results/model-text.js';
export { assertRequested, didNotRun, NotApprovedError } from './results/not-approved.js';
export { askedCall, boundBy, offeredDecisions, questionText, toldText } from './results/question.js';
export type { AskedCall, Bound, Questioned } from './results/question.js';
export { resultOf } from './results/results.js';
export type { ToolResult, ToolResultStatus } from './results/results.js';
export type { KafkaRequests } from './ledger/kafka-requests.js';
export type { KafkaOptions, KafkaSasl, KafkaTls, RequestSigning, SigningKey } from './kafka/options.js';
export { jsonSchemaOf, type InputIssue, type SentSchema } from './tools/json-schema.js';
export { whyUnrecordable } from './tools/recordable.js';
export { isSameJson, issuesText } from './tools/schema.js';
export type { InputOf, JsonSchema } from './tools/schema.js';
export type { RunState, Step } from './state.js';
export type { CallOptions, TransportOptions } from './ledger/transport.js';
export { problemOfClaim } from './execution/verify-claim.js';
export type { ClaimProblem } from './execution/verify-claim.js';
export { createWorker } from './worker.js';
export type { RunOptions, Worker, WorkerOptions } from './worker-options.js';
export type {
  ApprovalView,
  EventView,
  JsonObject,
  JsonValue,
  LogEventView,
  RunView,
  ToolCallView,
} from '@countersign/contracts';
