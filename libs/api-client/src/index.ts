export { approvalsHandler, type ApprovalsHandlerOptions } from './approvals-handler.js';
export { createApiClient, type ApiClient, type ApiClientOptions, type ApiSchemas } from './api-client.js';
export {
  createFrontEnd,
  type FrontEnd,
  type FrontEndPerson,
  type ForwardedRequest,
  type PersonClient,
} from './front-end.js';
