export { isRecorded, isRefusedResponse } from './answer.js';
export type { MappedResponse } from './answer.js';
export { MappingError, OtherPersonError, OtherSignInError, StaleResponseError } from './mapping-error.js';
export {
  functionApprovalRequest,
  functionResult,
  isRecordedContent,
  proposedCallOf,
  responseToApproval,
} from './function-approval.js';
export type {
  FunctionApprovalRequestContent,
  FunctionApprovalResponseContent,
  FunctionCallContent,
  FunctionResultContent,
} from './function-approval.js';
export type { OtherCall } from './other-calls.js';
export { promptsOf, releasedBy, responsesTo } from './prompts.js';
export type { Answering, Shown } from './question.js';
export {
  interactionApprovalId,
  interactionProcessed,
  interactionRequested,
  interactionSuperseded,
  isRecordedInteraction,
  responseToInteraction,
} from './user-interaction.js';
export type {
  ToolApproval,
  UserInteractionProcessed,
  UserInteractionRequested,
  UserInteractionResponded,
} from './user-interaction.js';
