export type { Action, ApprovalRow, CallRequest, CallRow, ClaimRow, ResolutionRow, ResponseRow } from './call-row.js';
export { LogRewoundError } from './read-model.js';
export type {
  Applied,
  ApprovalOfCall,
  ApprovalsPage,
  ApprovalsQuery,
  DueCall,
  LogSource,
  ReadModel,
  ReadModelStats,
} from './read-model.js';
export { toApprovalView, toRunView, toToolCallView } from './views.js';
export type { Visibility } from './views.js';
