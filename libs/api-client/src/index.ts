export { createApiClient, type ApiClient, type ApiClientOptions, type ApiSchemas } from './api-client.js';
export { createFrontEnd, type FrontEnd, type FrontEndPerson, type PersonClient } from './front-end.js';
