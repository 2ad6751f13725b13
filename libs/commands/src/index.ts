export { isFrontEnd, principalKey, provenKey, roles } from './actor.js';
export type { Actor, PeopleOfFrontEnd, Role } from './actor.js';
export { aliasesOf } from './people/aliases.js';
export { proofOf } from './proof.js';
export { credentialOfToken, isOfToken } from './credential.js';
export { createArgumentSchemas, SchemaEngineError } from './request/argument-schema.js';
export type { ArgumentSchemas, SchemaCheck, SchemaEngine } from './request/argument-schema.js';
export type { CancelRunPorts, OpenCall, OpenCalls, OpenCallsOfRun } from './people/cancel-run.js';
export type { OpenCallsInside } from './people/end-inside.js';
export * from './commands.js';
export { serviceResolver } from './claim.js';
export type { Receipted } from './claim.js';
export { isForbiddenToRun, receiptOf } from './receipt.js';
export type { ClaimReceipt } from './receipt.js';
export { createCommandHandler } from './stream/handle-command.js';
export type { CommandHandler, CommandHandlerOptions, CommandMeta, CommandResult } from './stream/handle-command.js';
export type { GrantIndex, GrantPorts, GrantSources } from './grants/grant-ports.js';
export type { GrantedCall } from './grants/grant-facts.js';
export type { BatchOfRun, History, PendingCall } from './history.js';
export { createKeyedQueue } from './stream/keyed-queue.js';
export type { KeyedQueue } from './stream/keyed-queue.js';
export { quotasOf } from './request/quotas.js';
export { noSuchCall, refused } from './result.js';
export type { Result } from './result.js';
export type {
  BatchHandler,
  CommandPorts,
  PasskeyPorts,
  KnownApprover,
  People,
  ServiceTool,
  ServiceTools,
  ToolCallHandler,
} from './ports.js';
export { policyInForce, recordAtStart, recordPolicy, recordShadowPolicy } from './policy-activation.js';
export type { RequestedToolCalls } from './request/request-tool-calls.js';
export type { BulkResult } from './people/respond-in-bulk.js';
export { reusedKey } from './stream/repeats.js';
export { UnreadableStreamError } from './stream/unreadable-stream.js';
export { isCovered, stopOf } from './stops/coverage.js';
export { createKnownStops, stopsFor } from './stops/known-stops.js';
export type { KnownStops, KnownStopsPorts } from './stops/known-stops.js';
export { createWriteSide, forgetStreams, learnCalls } from './write-side.js';
export type { WriteSidePorts } from './write-side.js';
export { withoutWrites, WouldWriteError } from './without-writes.js';
export { othersDigestOf } from './people/shown-others.js';
export { mayDecide } from './people/may-decide.js';
export { allApproversOf, lostVotes, missingApprovers, withVotesNow } from './request/approvers.js';
export type { MissingApprovers } from './request/approvers.js';
