export { createClient } from './client.js';
export type {
  ClaimRequest,
  Client,
  ClientOptions,
  GetToolCallOptions,
  ListApprovalsOptions,
  RenewRequest,
} from './client.js';
export type { ApprovalPage } from './answers.js';
export type { Clock as WorkerClock } from '@countersign/http-client';
export { CountersignError } from './errors.js';
export type { Problem } from './errors.js';
export type { EventsOptions } from './events.js';
export { gateTool } from './gate-tool.js';
export type {
  ApprovalContext,
  CheckedCall,
  ExecutionContext,
  GateTool,
  NeedsApproval,
  ProposedCall,
  ToolDefinition,
} from './gate-tool.js';
export type { CallEnd, FrameworkCall } from './framework-call.js';
export type { WaitOptions } from './limits.js';
export type { WorkerLog } from './log.js';
export { approvalFor } from './outcome.js';
export type { ClientCall, StepOutcome, StopReason } from './outcome.js';
export { modelNote, modelText } from './model-text.js';
export type { ToolResult, ToolResultStatus } from './results.js';
export type { KafkaOptions, KafkaSasl, KafkaTls, RequestSigning } from './kafka/options.js';
export type { InputIssue, InputOf, JsonSchema } from './schema.js';
export type { RunState, Step } from './state.js';
export type { CallOptions, TransportOptions } from './transport.js';
export { createWorker } from './worker.js';
export type { RunOptions, Worker, WorkerOptions } from './worker.js';
export type { ApprovalView, EventView, JsonObject, JsonValue, RunView, ToolCallView } from '@countersign/contracts';
