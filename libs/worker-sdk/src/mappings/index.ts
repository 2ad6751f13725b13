export { MappingError, StaleResponseError } from './answer.js';
export type { MappedResponse, Shown } from './answer.js';
export { functionApprovalRequest, functionResult, proposedCallOf, responseToApproval } from './function-approval.js';
export type {
  FunctionApprovalRequestContent,
  FunctionApprovalResponseContent,
  FunctionCallContent,
  FunctionResultContent,
} from './function-approval.js';
export {
  interactionProcessed,
  interactionRequested,
  interactionSuperseded,
  responseToInteraction,
} from './user-interaction.js';
export type {
  ToolApproval,
  UserInteractionProcessed,
  UserInteractionRequested,
  UserInteractionResponded,
} from './user-interaction.js';
