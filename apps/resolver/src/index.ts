export { ExecutionsUnavailableError } from './executions.js';
export type {
  ClaimAnswer,
  ClaimRequest,
  ExecutableCall,
  ExecutionAnswer,
  Executions,
  ReportedOutcome,
} from './executions.js';
export type { Tool, ToolOutcome, ToolRun, ToolSet } from './tool.js';
