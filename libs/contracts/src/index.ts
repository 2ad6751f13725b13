export { createAsyncApiDocument } from './asyncapi.js';
export type { RecordedDecision } from './approval-events.js';
export type { Decision } from './decision.js';
export type { Proof } from './credentials.js';
export { backoffMs } from './backoff/index.js';
export type { Backoff } from './backoff/index.js';
export type { BatchEvent } from './batch-events.js';
export { edgeCodes, refusalCodes } from './codes.js';
export type { ErrorCode, FieldError, Refusal, RefusalCode } from './codes.js';
export { channelStream, deliveryEventTypes, deliveryStream, notificationKinds } from './delivery-events.js';
export type { DeliveryEvent, NotificationKind } from './delivery-events.js';
export { canonicalJson } from './canonical-json.js';
export { actionDigest, argumentsDigest, jcsDigest, proposalDigest, saltedDigest, shownDigest } from './digest.js';
export { othersDigest } from './digest.js';
export { receiptArgumentsHash, receiptType } from './receipt.js';
export type { PlaceInRun, ReceiptApprovals, ReceiptClaims, ReceiptFacts } from './receipt.js';
export { parseDurationMs } from './duration.js';
export { globProblem, matchesGlob } from './glob.js';
export type { DigestInput, ProposalDigestInput } from './digest.js';
export { toCalledTool } from './called-tool.js';
export { otherDefinition, otherSchema } from './refusal-words.js';
export type { OtherDefinition, OtherSchema } from './refusal-words.js';
export { plainWords, requestWords } from './plain-words.js';
export type { CalledTool } from './called-tool.js';
export { calledToolOf, toEventView, toLogEventView, toMaskedEventView } from './event-view.js';
export type { EventAudience } from './event-view.js';
export { actorOfEvent, actorRules } from './event-actor.js';
export type { ActorRule, EventActor } from './event-actor.js';
export { codeOfEvent, eventCodes } from './event-codes.js';
export { eventFacets, facetsOf, toolOf, unreadableType } from './event-facets.js';
export type { EventFacet, FacetValues } from './event-facets.js';
export { weigh, weighStored } from './event-weight.js';
export {
  currentSchemaVersion,
  eventSchemas,
  eventTypes,
  provenTypes,
  toToolCallEvent,
  toolCallEventSchemas,
  toolCallEventTypes,
} from './events.js';
export type {
  EventData,
  EventMetadata,
  EventType,
  LedgerEvent,
  NewEvent,
  RecordedEvent,
  SealedValues,
  ToolCallEvent,
  ToolCallEventType,
} from './events.js';
export { QuestionRefusedError } from './question-refused.js';
export { continueLogSchema } from './log-requests.js';
export { asUnreadable, isReadable, readablePart, toLogEvent, unreadableStreamOf } from './log-event.js';
export type { LogEvent, StoredEvent, UnreadableEvent, UnreadableStream } from './log-event.js';
export { grantEventTypes, grantStream } from './grant-events.js';
export type { GrantEvent, GrantEventType, GrantMatch, GrantTerms } from './grant-events.js';
export {
  createGrantQuerySchema,
  createGrantSchema,
  grantLimits,
  grantPreviewSchema,
  grantStates,
  grantViewSchema,
  revokeGrantSchema,
} from './grants.js';
export type { CreateGrantBody, GrantPreview, GrantView, GrantViewState, Remember, RevokeGrantBody } from './grants.js';
export {
  approvalIdOf,
  base32,
  batchStream,
  deriveCallId,
  deriveGrantId,
  fromBase32,
  isCallId,
  isGrantId,
  parseApprovalId,
  toolCallStream,
} from './ids.js';
export { jsonObjectSchema, jsonValueSchema } from './json.js';
export type { JsonObject, JsonValue } from './json.js';
export { placeLabelsOf } from './labels.js';
export type { PlaceLabel } from './labels.js';
export {
  assuranceSchema,
  batchModes,
  decisionTypes,
  decisionTypeSchema,
  durationMsSchema,
  externalIdSchema,
  isBlank,
  riskSchema,
  toolCallIdSchema,
} from './primitives.js';
export {
  answerSignatureSchema,
  assertionSchema,
  credentialIdSchema,
  nonceSchema,
  passkeysStream,
} from './passkey-events.js';
export type { AnswerSignature, PasskeyAssertion, PasskeyEvent, PasskeyEventData } from './passkey-events.js';
export {
  confirmPasskeySchema,
  passkeyListSchema,
  passkeyOptionsSchema,
  passkeyViewSchema,
  registerPasskeySchema,
} from './passkey-views.js';
export type { ConfirmPasskeyBody, PasskeyOptions, PasskeyView, RegisterPasskeyBody } from './passkey-views.js';
export { displayDigest } from './display-digest.js';
export type { ShownCard } from './display-digest.js';
export { groupSchema, lookalikeProblem } from './names.js';
export { frontEndSchema, personIdSchema, personOfFrontEnd, principalOfPerson } from './front-end.js';
export type { PersonOfFrontEnd } from './front-end.js';
export { isReservedPrincipal, principalSchema } from './principal.js';
export type { Assurance, BatchMode, DecisionType, DurationMs, Risk } from './primitives.js';
export { refusalsStream } from './refusal-events.js';
export type { RefusalEvent } from './refusal-events.js';
export { presentedOf } from './presented.js';
export type { Presented, PresentedView } from './presented.js';
export { requestHeadersSchema } from './message-headers.js';
export { createMessageSchemas } from './message-schemas.js';
export { parseBody } from './absent-nulls.js';
export { requestMessageSchemas } from './request-messages.js';
export type { RequestMessageType } from './request-messages.js';
export {
  cancelSchema,
  claimSchema,
  clientOutputSchema,
  eraseSubjectSchema,
  limits,
  outcomeSchema,
  problemSchema,
  reconcileSchema,
  renewClaimSchema,
  requestApprovalSchema,
  backtestSchema,
  explainedCallSchema,
  requestToolCallsSchema,
} from './requests.js';
export { respondInBulkSchema, respondSchema } from './responding.js';
export {
  checkpointQuerySchema,
  timestampQuerySchema,
  timestampsQuerySchema,
  vkeysQuerySchema,
  cardFormatSchema,
  cardQuerySchema,
  shownValuesQuerySchema,
  eventsQuerySchema,
  gatherLabels,
  getToolCallQuerySchema,
  labelsOfQuery,
  policySuggestionsQuerySchema,
  policyVersionsQuerySchema,
  listApprovalsQuerySchema,
  withdrawQuerySchema,
  listGrantsQuerySchema,
  listRunsQuerySchema,
  listToolCallsQuerySchema,
  oversightQuerySchema,
} from './queries.js';
export type {
  ClientOutputBody,
  Backtest,
  EraseSubject,
  ExplainedCall,
  OutcomeBody,
  RequestApprovalBody,
  RequestToolCalls,
  RequestedCall,
} from './requests.js';
export type { RespondBody, RespondInBulkBody } from './responding.js';
export type {
  CardQuery,
  ListApprovalsQuery,
  ListGrantsQuery,
  ListRunsQuery,
  ListToolCallsQuery,
  PolicySuggestionsQuery,
  PolicyVersionsQuery,
  TimestampsQuery,
  OversightQuery,
} from './queries.js';
export {
  auditEventsQuerySchema,
  auditStateQuerySchema,
  auditToolCallQuerySchema,
  erasuresQuerySchema,
  exportFormats,
  proofQuerySchema,
} from './audit-queries.js';
export type { AuditEventsQuery, ErasuresQuery } from './audit-queries.js';
export type { PersonAt, RightsOfProcess, StateAt } from './state-at.js';
export { oversightGroupings, oversightReportSchema } from './oversight-views.js';
export type { OversightFigures, OversightGrouping, OversightReport, OversightRow } from './oversight-views.js';
export { lastReplacesAll, policyStream, shadowPolicyStream, tenantOfPolicyStream } from './policy-events.js';
export type { PolicyEvent } from './policy-events.js';
export {
  explanationViewSchema,
  policySuggestionsSchema,
  policyVersionsSchema,
  policyViewSchema,
  shadowReportSchema,
} from './policy-views.js';
export type {
  BacktestSummary,
  ChangedCall,
  ExplanationView,
  PolicySuggestions,
  PolicyVersions,
  PolicyView,
  QuotaView,
  ShadowReport,
} from './policy-views.js';
export { comparedIdentity } from './compared-identity.js';
export { identitiesIn, identityKinds, identitySchemas, personPrincipalSchema } from './identities.js';
export type { Identities } from './identities.js';
export { nestingMax } from './nesting.js';
export type { ChainLink, ChainLinkView } from './nesting.js';
export type { ToolHints } from './tool-hints.js';
export { businessHoursSchema, deniedInCode, requirementSchema, ruledBatches } from './requirement.js';
export type { BusinessHours, DeniedInCode, Requirement, Stage, Verdict } from './requirement.js';
export { createSchemaRegistry } from './schema-registry.js';
export type { JsonSchema } from './json-schema.js';
export type { SchemaRegistry } from './schema-registry.js';
export { nameOf } from './schema-names.js';
export { isRunCancellationStream, runCancellationStream, runCancelledSchema } from './run-events.js';
export type { RunEvent } from './run-events.js';
export {
  concealAt,
  concealed,
  hiddenByName,
  hiddenValues,
  maskAt,
  maskByName,
  maskEdited,
  sensitivePointers,
  shownCharacters,
  unmask,
} from './sensitive.js';
export type { HiddenValue, MarkedPlaces } from './sensitive.js';
export {
  isRecordedInClear,
  markSecrets,
  maskSealed,
  mayHaveSecrets,
  putSecrets,
  secretPointers,
  takeSecrets,
  valuePointers,
} from './sealed-values.js';
export type { SecretValues, Unreadable } from './sealed-values.js';
export { isMarkedSchema, maskSchema } from './sensitive-schema.js';
export { erasedMark, hasUnreadable, isMask, maskOf, masksIn, withoutHashes } from './sensitive-mask.js';
export { maskRulesDigest } from './sensitive-names.js';
export { subjectNameOf, subjectOf, subjectOfGrant, subjectStream } from './subject-events.js';
export type { SubjectEvent } from './subject-events.js';
export { configurationKinds, systemEventTypes, systemStream, systemStreamPrefix } from './system-events.js';
export * from './stops.js';
export type {
  ConfigurationKind,
  CredentialRights,
  SystemEvent,
  SystemEventData,
  SystemEventType,
} from './system-events.js';
export { isShownText } from './sensitive-text.js';
export { isTimeZone } from './time-zone.js';
export { storedVersionOf, upcast } from './upcasters.js';
export { erasureViewSchema, eventViewSchema, pastErasureSchema, unreadableStreamSchema } from './log-views.js';
export {
  approvalStates,
  approvalViewSchema,
  claimViewSchema,
  receiptSchema,
  isDecided,
  isSettled,
  openRunViewSchema,
  revealedViewSchema,
  runViewSchema,
  toolCallStates,
  toolCallViewSchema,
} from './views.js';
export type { SchemaNote } from './schema-notes.js';
export type { ResponseView, StageProgress, Upcoming } from './approval-parts.js';
export type { ErasureView, EventView, LogEventView, PastErasure, UnreadableStreamView } from './log-views.js';
export type {
  ApprovalState,
  ApprovalView,
  ClaimView,
  OpenRunView,
  RevealedView,
  RunView,
  ToolCallState,
  ToolCallView,
} from './views.js';
