export { createBusApp } from './bus-app.js';
export type { BusApp, BusAppOptions } from './bus-app.js';
export { BusContext, BusExceptionFilter, BusTransportStrategy } from './bus-transport.strategy.js';
export type { BusTransportOptions } from './bus-transport.strategy.js';
export { withoutPlaces } from './http/health.js';
export type { CheckResult, Readiness, ReadinessCheck } from './http/health.js';
export { createHttpServer } from './http/http-server.js';
export type { HttpServer, HttpServerOptions } from './http/http-server.js';
export {
  countParked,
  createCommitMetrics,
  createDeadlineLag,
  createDurations,
  createGauges,
  createLabelledGauge,
  createMetricsRegistry,
} from './http/metrics.js';
export type { TellCommit } from './http/metrics.js';
export { createNestLogger } from './http/nest-logger.js';
export { OperationsController, operationsPorts } from './http/operations.controller.js';
export type { OperationsPorts } from './http/operations.controller.js';
export { ProblemError, retryAfter, statusOf, titleOf, toProblem } from './http/problem.js';
export { problemWords } from './http/problem-words.js';
export type { Problem } from './http/problem.js';
export { safeHeaders } from './http/safe-headers.js';
export { requestHeaders, sendText } from './http/send-text.js';
export type { TextAnswer } from './http/send-text.js';
export { urlOf } from './http/url-of.js';
export { ProblemFilter } from './http/problem-filter.js';
export type { ProblemFilterOptions } from './http/problem-filter.js';
export { agentIdsSchema } from './input/agent-ids.js';
export { describeFieldErrors, toFieldErrors } from './input/field-errors.js';
export { parseStrictJson } from './input/parse-json.js';
export type { ParsedJson } from './input/parse-json.js';
export { oversizeCalls, oversizeEdit } from './input/size-limits.js';
export { watchForChanges } from './input/watch-for-changes.js';
export { createPrincipalRate, requestsPerSecondDefault } from './limits/principal-rate.js';
export { guardEdge } from './process/edge-guard.js';
export type { RuntimePorts } from './process/runtime-ports.js';
export { complain, endSoon, printJson, reasonOf, say, stopSignal } from './process/process-entry.js';
export { followPolicyFile, followShadowPolicy } from './process/follow-policy-file.js';
export { createReloadCheck, observeReloads } from './process/reloads.js';
export type { ReloadedFile } from './process/reloads.js';
export { createStopFile } from './process/stop-file.js';
export { readOptionalPolicy } from './process/read-policy.js';
export { loadConditions } from './process/load-conditions.js';
export { warnOfUnsafeNode } from './process/warn-of-unsafe-node.js';
export {
  browsedVariables,
  judgingVariables,
  logOriginVariable,
  logPublicVariable,
  logSignerVariable,
  portVariable,
  processVariables,
  receiptVariables,
  answeringVariables,
  servingVariables,
  tellingVariables,
  timestampVariables,
} from './process/variables.js';
export { version } from './process/version.js';
export { createReceiptKeys } from './receipts/receipt-keys.js';
export type { ReceiptJwk, ReceiptKeys } from './receipts/receipt-keys.js';
export { digestOfReceiptKeys, openReceiptKeyFile, recordReceiptKeys } from './receipts/receipt-key-file.js';
export { createReceipts } from './receipts/receipts.js';
export type { Receipts } from './receipts/receipts.js';
export {
  digestOfFile,
  digestOfText,
  digestOfValue,
  noteRefused,
  policyParts,
  recordConfiguration,
} from './record/configuration.js';
export type { ConfiguredPart } from './record/configuration.js';
export type { AcceptedEnd } from './record/start.js';
export { followBackups } from './record/backups.js';
export { forgetRestored, readRestored, recordRestored, restoredFile, restoredWords } from './record/restored.js';
export type { RestoredBackup } from './record/restored.js';
export { createLogEndCheck, noteAcceptedEnd, noteStart, recordAcceptedEnd, recordLogKey } from './record/start.js';
export { openSystemLog, processTenant } from './record/system-log.js';
export type { SystemEventBody, SystemLog, SystemLogPorts } from './record/system-log.js';
export { createClockCheck, observeClock } from './stores/clock-check.js';
export { createKeysCheck } from './stores/keys-check.js';
export { createHistory } from './stores/history.js';
export { createOpenCalls, ViewsBehindError } from './stores/open-calls.js';
export type { CallViews } from './stores/open-calls.js';
export { reachedWithin } from './stores/reached-within.js';
export type { Reachable } from './stores/reached-within.js';
export { createReadOnlyStore } from './stores/read-only-store.js';
export { createStoreCheck } from './stores/store-check.js';
export { openTracing } from './tracing/open-tracing.js';
export { callAttributes, toolSpan } from './tracing/call-attributes.js';
export { createUnreadableCheck } from './stores/unreadable-check.js';
export { createTracedStore } from './tracing/traced-store.js';
export { inSpan } from './tracing/tracing.js';
export type { SpanOptions, TracedAnswer, TracedRequest, Tracing, TracingOptions } from './tracing/tracing.js';
