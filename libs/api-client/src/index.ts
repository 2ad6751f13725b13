export { createApiClient, type ApiClient, type ApiClientOptions, type ApiSchemas } from './api-client.js';
