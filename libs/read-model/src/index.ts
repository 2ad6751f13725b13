export { askedTogether, toStepQuestion } from './asked-together.js';
export type { AskedCall, AskedTogether, StepQuestion } from './asked-together.js';
export type { CallRequest, CallRow } from './call-row.js';
export type { GrantReads, GrantsPage, GrantsQuery } from './grants.js';
export { createLogComparison } from './compare-with-log.js';
export type { CompareOptions, Compared, LogComparison } from './compare-with-log.js';
export type { BlockReads, EventBlock, NextBlock, WantedEvents } from './event-blocks.js';
export { foldCall } from './evolve.js';
export { createOversight } from './oversight/oversight.js';
export type { Oversight, OversightOptions } from './oversight/oversight.js';
export { LogRewoundError } from './log-source.js';
export type {
  Applied,
  ApprovalOfCall,
  ApprovalsPage,
  ApprovalsQuery,
  CallsQuery,
  CallInTurn,
  HeldTurn,
  DueCall,
  OpenRun,
  Page,
  ReadModel,
  ReadModelStats,
  RunFacts,
  RunsQuery,
  UnreadableReads,
} from './read-model.js';
export type { LogSource, PlaceReads } from './log-source.js';
export type { RowSeal } from './sqlite/database.js';
export type { OnProgress, Progress } from './sqlite/catch-up.js';
export { rebuildReadModel } from './sqlite/rebuild.js';
export type { RebuildOptions, RebuildReport } from './sqlite/rebuild.js';
export { openReadModel } from './sqlite/sqlite-read-model.js';
export type { FileReadModel, ReadModelOptions } from './sqlite/sqlite-read-model.js';
export { verifyReadModel } from './sqlite/verify.js';
export type { Difference, Verification } from './sqlite/verify.js';
export type { Bounds } from './sqlite/working-set.js';
export { toApprovalView, toRunView, toToolCallView } from './views.js';
export type { Visibility } from './call-result.js';
export { waitingApproval } from './waiting-approval.js';
