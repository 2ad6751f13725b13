export { createExecutions } from './commands-executions.js';
export { ExecutionsUnavailableError } from './executions.js';
export type {
  ClaimAnswer,
  ClaimRequest,
  ExecutableCall,
  ExecutionAnswer,
  Executions,
  ReportedOutcome,
} from './executions.js';
export { createResolverMetrics } from './metrics.js';
export type { ResolverMetrics } from './metrics.js';
export { createResolver, ResolverStoppedError } from './resolver.js';
export type { Resolver, ResolverOptions } from './resolver.js';
export { createResolverApp } from './resolver-app.js';
export type { ResolverApp, ResolverAppOptions } from './resolver-app.js';
export { loadTools } from './tools/load-tools.js';
export type { Tool, ToolOutcome, ToolRun, ToolSet } from './tools/tool.js';
export { ToolsFileError } from './tools/tools-file.js';
